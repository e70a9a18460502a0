//! Writes to the store. Each call is one short transaction, so that several runs can be written at once.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Imported, MAX_LINES_BYTES, RoundRow, Store, StoreError};
use crate::check::{check_machine, check_run_facts, parse_time};
use crate::document::{CaseResult, Document, Interval, RunInfo, SCHEMA};

impl Store {
    /// Stores a run that begins now. `plan` is opaque text of the runner, returned by [`Store::plan`].
    ///
    /// # Errors
    /// [`StoreError::RunExists`]; [`StoreError::Unsound`] for an id or time that an import would reject.
    pub fn begin_run(
        &mut self,
        run: &RunInfo,
        machine: &Map<String, Value>,
        plan: &str,
    ) -> Result<(), StoreError> {
        run.check()
            .and_then(|()| check_machine(machine))
            .map_err(|fault| StoreError::Unsound { id: run.id.clone(), fault })?;
        self.insert_run(&self.connection, run, machine, Some(plan))
    }

    fn insert_run(
        &self,
        open: &Connection,
        run: &RunInfo,
        machine: &Map<String, Value>,
        plan: Option<&str>,
    ) -> Result<(), StoreError> {
        let started = parse_time(&run.started)
            .ok_or_else(|| StoreError::unsound(&run.id, "it does not say when it started"))?;
        let sql = "INSERT INTO runs (id, started, started_us, finished, seed, oscost, tags, asked, machine, plan,
                                     core_clock_ghz, area_seconds)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let inserted = open.execute(
            sql,
            params![
                run.id,
                run.started,
                started.as_microsecond(),
                run.finished,
                run.seed.to_string(),
                run.oscost,
                json(&run.tags),
                json(&run.asked),
                json(machine),
                plan,
                json(&run.core_clock_ghz),
                json(&run.area_seconds)
            ],
        );
        match inserted {
            Err(error) if is_constraint(&error) => {
                Err(StoreError::RunExists { id: run.id.clone() })
            }
            other => other.map(drop).map_err(self.failed()),
        }
    }

    /// Stores one worker process. When this returns, a kill of this process no longer loses it.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::RoundExists`]; [`StoreError::Unsound`] for lines longer than
    /// [`MAX_LINES_BYTES`] or an unknown kind.
    pub fn add_round(&mut self, id: &str, round: &RoundRow) -> Result<(), StoreError> {
        let unsound = |what: &str| StoreError::unsound(id, format!("round {}: {what}", round.seq));
        if round.lines.len() > MAX_LINES_BYTES {
            return Err(unsound("the worker printed more than 64 MiB"));
        }
        if !matches!(round.kind.as_str(), "round" | "count") {
            return Err(unsound("its kind is neither `round` nor `count`"));
        }
        let seq = i64::try_from(round.seq).map_err(|_| unsound("its number is too high"))?;
        let sql =
            "INSERT INTO rounds (run, seq, case_name, params, kind, outcome, started_ms, lines)
                   SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM runs WHERE id = ?1";
        let mut insert = self.connection.prepare_cached(sql).map_err(self.failed())?;
        let values = params![
            id,
            seq,
            round.case,
            json(&round.params),
            round.kind,
            round.outcome,
            round.started_ms,
            pack(&round.lines)
        ];
        match insert.execute(values) {
            Ok(0) => Err(self.unknown(id)),
            Err(error) if is_constraint(&error) => {
                Err(StoreError::RoundExists { id: id.to_owned(), seq: round.seq })
            }
            other => other.map(drop).map_err(self.failed()),
        }
    }

    /// Replaces all results of the run. A result whose figures cannot be true is stored as [`CaseResult::sound`]
    /// returns it.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; [`StoreError::Unsound`] if a case has an invalid name or appears twice with the same
    /// parameters and metric. Then the results are not changed.
    pub fn put_results(&mut self, id: &str, results: &[CaseResult]) -> Result<(), StoreError> {
        let writing = self.write()?;
        let run = self.run_seq(&writing, id)?;
        writing.execute("DELETE FROM results WHERE run = ?1", [run]).map_err(self.failed())?;
        self.insert_results(&writing, run, id, results)?;
        writing.commit().map_err(self.failed())
    }

    fn insert_results(
        &self,
        open: &Connection,
        run: i64,
        id: &str,
        results: &[CaseResult],
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO results (run, seq, body) VALUES (?1, ?2, ?3)";
        let mut insert = open.prepare_cached(sql).map_err(self.failed())?;
        for (seq, result) in (0_i64..).zip(results) {
            let result = result.sound();
            result.check().map_err(|fault| StoreError::Unsound { id: id.to_owned(), fault })?;
            match insert.execute(params![run, seq, json(&result)]) {
                Err(error) if is_constraint(&error) => {
                    let what = format!("{} {} appears twice", result.label(), result.metric);
                    return Err(StoreError::unsound(id, what));
                }
                other => other.map_err(self.failed())?,
            };
        }
        Ok(())
    }

    /// Stores the facts known after a run: the core's frequency and the time of each area.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; [`StoreError::Unsound`] for figures that cannot be true. The store is then
    /// unchanged.
    pub fn put_run_facts(
        &mut self,
        id: &str,
        core_clock_ghz: Option<Interval>,
        area_seconds: &BTreeMap<String, f64>,
    ) -> Result<(), StoreError> {
        check_run_facts(core_clock_ghz, area_seconds)
            .map_err(|fault| StoreError::Unsound { id: id.to_owned(), fault })?;
        let sql = "UPDATE runs SET core_clock_ghz = ?2, area_seconds = ?3 WHERE id = ?1";
        let clock = json(&core_clock_ghz);
        let values = params![id, clock, json(area_seconds)];
        match self.connection.execute(sql, values).map_err(self.failed())? {
            0 => Err(self.unknown(id)),
            _ => Ok(()),
        }
    }

    /// Stores the sentinel's quiet ratios of a run, for later runs of the same build on the same CPU model (`key`).
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_quiet_level(&mut self, key: &str, alu: f64, chase: f64) -> Result<(), StoreError> {
        let sql = "INSERT INTO quiet_levels (key, alu, chase) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![key, alu, chase]).map_err(self.failed())?;
        Ok(())
    }

    /// Stores the core cycles of a multiplication on a CPU model.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn put_multiplication_cycles(&mut self, cpu: &str, cycles: u32) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO multiplication_cycles (cpu, cycles) VALUES (?1, ?2)";
        self.connection.execute(sql, params![cpu, cycles]).map_err(self.failed())?;
        Ok(())
    }

    /// Stores the end of the run (RFC 3339).
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; [`StoreError::Unsound`] if that is not a time.
    pub fn finish_run(&mut self, id: &str, finished: &str) -> Result<(), StoreError> {
        if parse_time(finished).is_none() {
            return Err(StoreError::unsound(
                id,
                format!("finished {finished:?} is not an RFC 3339 time"),
            ));
        }
        let sql = "UPDATE runs SET finished = ?2 WHERE id = ?1";
        match self.connection.execute(sql, [id, finished]).map_err(self.failed())? {
            0 => Err(self.unknown(id)),
            _ => Ok(()),
        }
    }

    /// Stores a run measured elsewhere.
    ///
    /// # Errors
    /// [`StoreError::RunDiffers`] if another run with its id is here; [`StoreError::Unsound`] for a document that
    /// [`Document::check`] rejects.
    pub fn import(&mut self, document: &Document) -> Result<Imported, StoreError> {
        let id = &document.run.id;
        document.check().map_err(|fault| StoreError::Unsound { id: id.clone(), fault })?;
        debug_assert_eq!(document.schema, SCHEMA);
        let writing = self.write()?;
        match self.read_document(&writing, id)? {
            Some(known) if known == *document => return Ok(Imported::AlreadyThere),
            Some(_) => return Err(StoreError::RunDiffers { id: id.clone() }),
            None => self.insert_run(&writing, &document.run, &document.machine, None)?,
        }
        let run = self.run_seq(&writing, id)?;
        self.insert_results(&writing, run, id, &document.results)?;
        writing.commit().map_err(self.failed())?;
        Ok(Imported::Added)
    }

    /// Deletes the run with its rounds and results.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`].
    pub fn delete_run(&mut self, id: &str) -> Result<(), StoreError> {
        match self
            .connection
            .execute("DELETE FROM runs WHERE id = ?1", [id])
            .map_err(self.failed())?
        {
            0 => Err(self.unknown(id)),
            _ => Ok(()),
        }
    }

    /// A transaction that holds the write lock from its start, so that it never fails half-way waiting for it. Rolled
    /// back unless committed. Callers have `&mut self`, so none is open already.
    fn write(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(self.failed())
    }
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("string keys only, and writing to memory cannot fail")
}

fn pack(lines: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(lines.as_bytes())
        .and_then(|()| encoder.finish())
        .expect("writing to memory cannot fail")
}
