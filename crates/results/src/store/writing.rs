//! Writes to the store. Each call is one short transaction, so that several runs can be written at once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::engine::{LIST_AT_MOST, Value as Given, json, listed, values};
use super::opened::Journal;
use super::packing::{pack, pack_lines};
use super::reading::NO_RUN;
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
        if self.begin_journal(&run.id, |journal| journal.begin_run(run, machine, plan))?.is_some() {
            return Ok(());
        }
        let writing = self.write()?;
        if !self.insert_run(run, machine, Some(plan))? {
            return Err(StoreError::RunExists { id: run.id.clone() });
        }
        writing.commit()
    }

    /// Adds a run within the open transaction; false if there is one with its id.
    pub(super) fn insert_run(
        &self,
        run: &RunInfo,
        machine: &Map<String, Value>,
        plan: Option<&str>,
    ) -> Result<bool, StoreError> {
        let started = parse_time(&run.started)
            .ok_or_else(|| StoreError::unsound(&run.id, "it does not say when it started"))?;
        let sql = "INSERT INTO runs (id, started, started_us, finished, seed, oscost, machine_line, tags, asked, machine,
                                     plan, core_clock_ghz, area_seconds)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                   ON CONFLICT (id) DO NOTHING RETURNING seq";
        let inserted = self.one_column(
            sql,
            &values![
                &run.id,
                &run.started,
                started.as_microsecond(),
                run.finished.as_ref(),
                run.seed.to_string(),
                &run.oscost,
                machine_line(machine),
                json(&run.tags),
                json(&run.asked),
                json(machine),
                plan,
                json(&run.core_clock_ghz),
                json(&run.area_seconds)
            ],
        )?;
        let Some(seq): Option<i64> = inserted else { return Ok(false) };
        let sql = "INSERT INTO tags (run, key, value) VALUES (?1, ?2, ?3)";
        for (key, value) in &run.tags {
            self.engine.execute(sql, &values![seq, key, value])?;
        }
        Ok(true)
    }

    /// Stores one worker process. A kill of this process after the return does not lose it; a power cut may, until the run ends.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::RoundExists`]; [`StoreError::Unsound`] for lines longer than
    /// [`MAX_LINES_BYTES`] or an unknown kind.
    pub fn add_round(&mut self, id: &str, round: &RoundRow) -> Result<(), StoreError> {
        check_round(id, round)?;
        if self.add_to_journal(id, round)?.is_some() {
            return Ok(());
        }
        // A device that is made to write between two rounds would disturb the next one.
        self.engine.set_durable(false)?;
        let added = self.add_here(id, round);
        self.engine.set_durable(true)?;
        added
    }

    fn add_here(&self, id: &str, round: &RoundRow) -> Result<(), StoreError> {
        let writing = self.write()?;
        let run = self.run_to_change(id)?;
        match self.insert_rounds(run, std::slice::from_ref(round))? {
            0 => Err(StoreError::RoundExists { id: id.to_owned(), seq: round.seq }),
            _ => writing.commit(),
        }
    }

    /// The `seq` of a run that this user may change; nobody else changes it until the open transaction ends.
    pub(super) fn run_to_change(&self, id: &str) -> Result<i64, StoreError> {
        let sql = "UPDATE runs SET rounds = rounds WHERE id = ?1 RETURNING seq";
        self.one_column(sql, &values![id])?.ok_or_else(|| self.unchangeable(id))
    }

    /// Adds rounds within the open transaction, except those whose number the run has; returns how many were added.
    pub(super) fn insert_rounds(&self, run: i64, rounds: &[RoundRow]) -> Result<u64, StoreError> {
        let params: Vec<String> = rounds.iter().map(|round| json(&round.params)).collect();
        let texts = rounds.iter().zip(&params);
        let texts = texts.flat_map(|(round, params)| [&round.case, params, &round.outcome]);
        let number_of = self.text_numbers(texts.map(String::as_str).collect())?;
        let mut rows = Vec::new();
        for (round, params) in rounds.iter().zip(&params) {
            let (lines, crc32) = pack_lines(&round.lines);
            let RoundRow { case, kind, outcome, started_ms, .. } = round;
            let numbers = [case, params, outcome].map(|text| number_of[text.as_str()]);
            let seq = round.seq as i64;
            rows.push(values![
                run,
                seq,
                numbers[0],
                numbers[1],
                kind,
                numbers[2],
                *started_ms,
                crc32,
                lines
            ]);
        }
        let sql = "INSERT INTO packed_rounds (run, seq, case_name, params, kind, outcome, started_ms, crc32, lines)
                   VALUES";
        let added = self.insert_rows(sql, "ON CONFLICT (run, seq) DO NOTHING", &rows)?;
        let sql = "UPDATE runs SET rounds = rounds + ?2 WHERE seq = ?1";
        self.engine.execute(sql, &values![run, added as i64])?;
        Ok(added)
    }

    /// Inserts rows, several with each statement.
    fn insert_rows<const N: usize>(
        &self,
        insert: &str,
        end: &str,
        mut rows: &[[Given; N]],
    ) -> Result<u64, StoreError> {
        const TOGETHER: usize = 32;
        let mut added = 0;
        while !rows.is_empty() {
            let count = if rows.len() < TOGETHER { 1 } else { TOGETHER };
            let (now, later) = rows.split_at(count);
            let marks = (0..count).map(|row| {
                let of_row: Vec<String> = (1..=N).map(|n| format!("?{}", row * N + n)).collect();
                format!("({})", of_row.join(", "))
            });
            let marks: Vec<String> = marks.collect();
            let sql = format!("{insert} {} {end}", marks.join(", "));
            added += self.engine.execute(&sql, now.as_flattened())?;
            rows = later;
        }
        Ok(added)
    }

    /// The `seq` of each text, within the open transaction; adds those that are missing.
    pub(super) fn text_numbers<'a>(
        &self,
        texts: BTreeSet<&'a str>,
    ) -> Result<HashMap<&'a str, i64>, StoreError> {
        let texts: Vec<&str> = texts.into_iter().collect();
        let mut numbers = HashMap::new();
        for some in texts.chunks(LIST_AT_MOST) {
            self.find_texts(some, &mut numbers)?;
            // Most texts are there already, and an insert that finds one would use up a number. They are added in one order, so
            // that two writers never wait for each other.
            let missing: Vec<&str> =
                some.iter().copied().filter(|text| !numbers.contains_key(text)).collect();
            for text in &missing {
                let sql = "INSERT INTO texts (text) VALUES (?1) ON CONFLICT DO NOTHING";
                self.engine.execute(sql, &values![*text])?;
            }
            if !missing.is_empty() {
                self.find_texts(&missing, &mut numbers)?;
            }
        }
        match texts.iter().find(|text| !numbers.contains_key(*text)) {
            None => Ok(numbers),
            Some(text) => Err(self.damaged(format!("the text {text:?} cannot be added"))),
        }
    }

    fn find_texts<'a>(
        &self,
        texts: &[&'a str],
        numbers: &mut HashMap<&'a str, i64>,
    ) -> Result<(), StoreError> {
        let (list, given) = listed(texts.iter().copied().map(Given::from).collect());
        let sql = format!("SELECT text, seq FROM texts WHERE text IN {list}");
        let known: BTreeSet<&'a str> = texts.iter().copied().collect();
        for row in self.engine.query(&sql, &given)? {
            let text: String = self.column(&row, 0)?;
            if let Some(text) = known.get(text.as_str()) {
                numbers.insert(text, self.column(&row, 1)?);
            }
        }
        Ok(())
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
        if self.in_journal(id, |journal| journal.store.put_results(id, results))?.is_some() {
            return Ok(());
        }
        let writing = self.write()?;
        let sound: Vec<&CaseResult> = sound.iter().map(AsRef::as_ref).collect();
        self.write_results(id, &sound)?;
        writing.commit()
    }

    /// Replaces the results of a run, which have been checked, within the open transaction.
    pub(super) fn write_results(
        &self,
        id: &str,
        results: &[&CaseResult],
    ) -> Result<(), StoreError> {
        let body = json(&results);
        let sql = "UPDATE runs SET results = ?2 WHERE id = ?1 RETURNING seq";
        let run = self.one_column(sql, &values![id, results.len() as i64])?;
        let run = run.ok_or_else(|| self.unchangeable(id))?;
        let sql = "INSERT INTO packed_results (run, bytes, body) VALUES (?1, ?2, ?3)
                   ON CONFLICT (run) DO UPDATE SET bytes = excluded.bytes, body = excluded.body";
        self.engine.execute(sql, &values![run, body.len() as i64, pack(&body)])?;
        self.write_figures(run, results)
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
        let put =
            |journal: &mut Journal| journal.store.put_run_facts(id, core_clock_ghz, area_seconds);
        if self.in_journal(id, put)?.is_some() {
            return Ok(());
        }
        let sql = "UPDATE runs SET core_clock_ghz = ?2, area_seconds = ?3 WHERE id = ?1";
        self.changed(id, sql, &values![id, json(&core_clock_ghz), json(area_seconds)])
    }

    /// Stores the sentinel's quiet ratios of a run, for later runs of the same build on the same CPU model (`key`).
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_quiet_level(&mut self, key: &str, alu: f64, chase: f64) -> Result<(), StoreError> {
        let sql = "INSERT INTO quiet_levels (key, alu, chase) VALUES (?1, ?2, ?3)";
        self.put_advice(self.engine.execute(sql, &values![key, alu, chase]).map(drop))
    }

    /// Stores the core cycles of a multiplication on a CPU model.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn put_multiplication_cycles(&mut self, cpu: &str, cycles: u32) -> Result<(), StoreError> {
        self.put_advice(self.replace_multiplication_cycles(cpu, cycles))
    }

    /// The outcome of storing something that later runs can do without: no run waits for a shared store to take it.
    fn put_advice(&self, put: Result<(), StoreError>) -> Result<(), StoreError> {
        match put {
            Err(StoreError::Lost { .. }) if self.has_journals() => Ok(()),
            other => other,
        }
    }

    /// What was read of the store that a run can do without: nothing while a shared store cannot be reached.
    ///
    /// # Errors
    /// Other errors of reading.
    pub fn if_reached<T: Default>(&self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        match read {
            Err(StoreError::Lost { .. }) if self.has_journals() => Ok(T::default()),
            other => other,
        }
    }

    fn replace_multiplication_cycles(&self, cpu: &str, cycles: u32) -> Result<(), StoreError> {
        // Where several users share a store, each has what it has found itself.
        let writing = self.write()?;
        let own = self.engine.is_of_writer("?2");
        let sql = format!("DELETE FROM multiplication_cycles WHERE cpu = ?1 AND {own}");
        self.engine.execute(&sql, &values![cpu, NO_RUN])?;
        let sql = "INSERT INTO multiplication_cycles (cpu, cycles) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.engine.execute(sql, &values![cpu, cycles])?;
        writing.commit()
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
        let finish = |journal: &mut Journal| journal.store.finish_run(id, finished);
        if self.in_journal(id, finish)?.is_some() {
            return Ok(());
        }
        let sql = "SELECT started FROM runs WHERE id = ?1";
        let started: Option<String> = self.one_column(sql, &values![id])?;
        let started = started.ok_or_else(|| self.unknown(id))?;
        let finished =
            if parse_time(finished) < parse_time(&started) { started.as_str() } else { finished };
        let sql = "UPDATE runs SET finished = ?2 WHERE id = ?1";
        self.changed(id, sql, &values![id, finished])
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
        if !self.insert_run(&document.run, &document.machine, None)? {
            return match self.read_document(id)? {
                Some(known) if known == *document => Ok(Imported::AlreadyThere),
                _ => Err(StoreError::RunDiffers { id: id.clone() }),
            };
        }
        let results: Vec<&CaseResult> = document.results.iter().collect();
        self.write_results(id, &results)?;
        writing.commit()?;
        Ok(Imported::Added)
    }

    /// Deletes the run with its rounds and results.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`].
    pub fn delete_run(&mut self, id: &str) -> Result<(), StoreError> {
        match self.delete_journal(id)? {
            Some(()) => Ok(()),
            None => self.delete_here(id),
        }
    }

    /// Deletes the run, if it is here and not in a journal only.
    pub(super) fn delete_here(&self, id: &str) -> Result<(), StoreError> {
        self.changed(id, "DELETE FROM runs WHERE id = ?1", &values![id])
    }

    /// Executes a statement that changes the run `id`, or deletes it.
    fn changed(&self, id: &str, sql: &str, values: &[Given]) -> Result<(), StoreError> {
        match self.engine.execute(sql, values)? {
            0 => Err(self.unchangeable(id)),
            _ => Ok(()),
        }
    }

    /// The error about a run that no statement of this user changes: it is another user's, or does not exist.
    fn unchangeable(&self, id: &str) -> StoreError {
        let sql = "SELECT count(*) FROM runs WHERE id = ?1";
        match self.one_column::<i64>(sql, &values![id]) {
            Ok(None | Some(0)) => self.unknown(id),
            Ok(Some(_)) => {
                let store = self.path.display().to_string();
                StoreError::OthersRun { id: id.to_owned(), store }
            }
            Err(error) => error,
        }
    }

    /// Begins a transaction, which is rolled back unless committed. Callers that change the store have `&mut self`, so no other
    /// one is open.
    pub(super) fn write(&self) -> Result<Writing<'_>, StoreError> {
        self.engine.begin()?;
        Ok(Writing { store: self, is_open: true })
    }
}

/// An open transaction.
pub(super) struct Writing<'a> {
    store: &'a Store,
    is_open: bool,
}

impl Writing<'_> {
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.store.engine.commit()?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.store.engine.rollback();
        }
    }
}

/// Checks a round before it is stored.
pub(super) fn check_round(id: &str, round: &RoundRow) -> Result<(), StoreError> {
    let unsound = |what: &str| StoreError::unsound(id, format!("round {}: {what}", round.seq));
    if round.lines.len() > MAX_LINES_BYTES {
        return Err(unsound("the worker printed more than 64 MiB"));
    }
    if !matches!(round.kind.as_str(), "round" | "count" | "kept") {
        return Err(unsound("its kind is none of `round`, `count` and `kept`"));
    }
    i64::try_from(round.seq).map(drop).map_err(|_| unsound("its number is too high"))
}
