//! Writes to the store. Each call is one short transaction, so that several runs can be written at once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::packing::{pack, pack_lines};
use super::{Imported, MAX_LINES_BYTES, RoundRow, Store, StoreError};
use crate::check::{check_identities, check_machine, check_run_facts, parse_time};
use crate::document::{CaseResult, Document, Interval, RunInfo, SCHEMA, machine_line};

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
        let writing = self.write()?;
        self.insert_run(&writing, run, machine, Some(plan))?;
        writing.commit().map_err(self.failed())
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
        let sql = "INSERT INTO runs (id, started, started_us, finished, seed, oscost, machine_line, tags, asked, machine,
                                     plan, core_clock_ghz, area_seconds)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let inserted = open.execute(
            sql,
            params![
                run.id,
                run.started,
                started.as_microsecond(),
                run.finished,
                run.seed.to_string(),
                run.oscost,
                machine_line(machine),
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
                return Err(StoreError::RunExists { id: run.id.clone() });
            }
            other => other.map_err(self.failed())?,
        };
        let seq = open.last_insert_rowid();
        let sql = "INSERT INTO tags (run, key, value) VALUES (?1, ?2, ?3)";
        for (key, value) in &run.tags {
            open.execute(sql, params![seq, key, value]).map_err(self.failed())?;
        }
        Ok(())
    }

    /// Stores one worker process. A kill of this process after the return does not lose it.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::RoundExists`]; [`StoreError::Unsound`] for lines longer than
    /// [`MAX_LINES_BYTES`] or an unknown kind.
    pub fn add_round(&mut self, id: &str, round: &RoundRow) -> Result<(), StoreError> {
        let unsound = |what: &str| StoreError::unsound(id, format!("round {}: {what}", round.seq));
        if round.lines.len() > MAX_LINES_BYTES {
            return Err(unsound("the worker printed more than 64 MiB"));
        }
        if !matches!(round.kind.as_str(), "round" | "count" | "kept") {
            return Err(unsound("its kind is none of `round`, `count` and `kept`"));
        }
        let seq = i64::try_from(round.seq).map_err(|_| unsound("its number is too high"))?;
        let writing = self.write()?;
        self.insert_round(&writing, id, seq, round)?;
        writing.commit().map_err(self.failed())
    }

    fn insert_round(
        &self,
        open: &Connection,
        id: &str,
        seq: i64,
        round: &RoundRow,
    ) -> Result<(), StoreError> {
        let params = json(&round.params);
        let (lines, crc32) = pack_lines(&round.lines);
        let sql = "UPDATE runs SET rounds = rounds + 1 WHERE id = ?1 RETURNING seq";
        let run = self.updated(open, sql, params![id], id)?;
        let sql = "INSERT OR IGNORE INTO texts (text) VALUES (?1), (?2), (?3)";
        let mut insert = open.prepare_cached(sql).map_err(self.failed())?;
        insert.execute([&round.case, &params, &round.outcome]).map_err(self.failed())?;
        let sql = "INSERT INTO packed_rounds (run, seq, case_name, params, kind, outcome, started_ms, crc32, lines)
                   VALUES (?1, ?2, (SELECT seq FROM texts WHERE text = ?3), (SELECT seq FROM texts WHERE text = ?4), ?5,
                           (SELECT seq FROM texts WHERE text = ?6), ?7, ?8, ?9)";
        let mut insert = open.prepare_cached(sql).map_err(self.failed())?;
        let RoundRow { case, kind, outcome, started_ms, .. } = round;
        let row = params![run, seq, case, params, kind, outcome, started_ms, crc32, lines];
        match insert.execute(row) {
            Err(error) if is_constraint(&error) => {
                Err(StoreError::RoundExists { id: id.to_owned(), seq: round.seq })
            }
            other => other.map(drop).map_err(self.failed()),
        }
    }

    /// Replaces all results of the run. A result whose figures cannot be true is stored as [`CaseResult::sound`] returns
    /// it.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; [`StoreError::Unsound`] if a case has an invalid name or appears twice with the same
    /// parameters and metric. The stored results are unchanged then.
    pub fn put_results(&mut self, id: &str, results: &[CaseResult]) -> Result<(), StoreError> {
        let sound: Vec<Cow<CaseResult>> = results.iter().map(CaseResult::sound).collect();
        let checked = sound.iter().try_for_each(|result| result.check());
        checked
            .and_then(|()| check_identities(results))
            .map_err(|fault| StoreError::Unsound { id: id.to_owned(), fault })?;
        let writing = self.write()?;
        let sound: Vec<&CaseResult> = sound.iter().map(AsRef::as_ref).collect();
        self.write_results(&writing, id, &sound)?;
        writing.commit().map_err(self.failed())
    }

    fn write_results(
        &self,
        open: &Connection,
        id: &str,
        results: &[&CaseResult],
    ) -> Result<(), StoreError> {
        let body = json(&results);
        let sql = "UPDATE runs SET results = ?2 WHERE id = ?1 RETURNING seq";
        let run = self.updated(open, sql, params![id, results.len() as i64], id)?;
        let sql = "INSERT OR REPLACE INTO packed_results (run, bytes, body) VALUES (?1, ?2, ?3)";
        open.execute(sql, params![run, body.len() as i64, pack(&body)]).map_err(self.failed())?;
        self.write_figures(open, run, results)
    }

    /// Executes a statement that changes the run `id`; returns the run's `seq`.
    fn updated(
        &self,
        open: &Connection,
        sql: &str,
        values: impl rusqlite::Params,
        id: &str,
    ) -> Result<i64, StoreError> {
        let mut update = open.prepare_cached(sql).map_err(self.failed())?;
        let seq = update.query_row(values, |row| row.get(0)).optional();
        seq.map_err(self.failed())?.ok_or_else(|| self.unknown(id))
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

    /// Stores the end of the run (RFC 3339); that of its start if the system's clock was set back meanwhile.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; [`StoreError::Unsound`] if `finished` is not a time.
    pub fn finish_run(&mut self, id: &str, finished: &str) -> Result<(), StoreError> {
        if parse_time(finished).is_none() {
            return Err(StoreError::unsound(
                id,
                format!("finished {finished:?} is not an RFC 3339 time"),
            ));
        }
        let started: Option<String> = self
            .connection
            .query_row("SELECT started FROM runs WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(self.failed())?;
        let started = started.ok_or_else(|| self.unknown(id))?;
        let finished =
            if parse_time(finished) < parse_time(&started) { started.as_str() } else { finished };
        let sql = "UPDATE runs SET finished = ?2 WHERE id = ?1";
        match self.connection.execute(sql, [id, finished]).map_err(self.failed())? {
            0 => Err(self.unknown(id)),
            _ => Ok(()),
        }
    }

    /// Stores a run measured elsewhere.
    ///
    /// # Errors
    /// [`StoreError::RunDiffers`] if the store has another run with its id; [`StoreError::Unsound`] for a document that
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
        let results: Vec<&CaseResult> = document.results.iter().collect();
        self.write_results(&writing, id, &results)?;
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

    /// Begins a transaction that holds the write lock from its start, so that it never fails half-way waiting for the lock.
    /// It is rolled back unless committed. Callers have `&mut self`, so no other one is open.
    pub(super) fn write(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(self.failed())
    }
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("string keys only, and writing to memory cannot fail")
}
