//! Reads from the store.

use serde::de::DeserializeOwned;

use super::engine::{FromValue, Row, Value, values};
use super::packing::{unpack_lines, unpack_results};
use super::{RoundRow, RunSummary, Store, StoreError};
use crate::document::{Document, MachineFacts, RunInfo, SCHEMA};

/// Rounds with their texts. The view `rounds` of the tables is for users of SQL: in a store of unknown origin it may be anything.
const ROUNDS: &str =
    "(SELECT run, packed_rounds.seq AS seq, cases.text AS case_name, points.text AS params, kind,
             outcomes.text AS outcome, started_ms, crc32, lines
      FROM packed_rounds
      JOIN texts AS cases ON cases.seq = packed_rounds.case_name
      JOIN texts AS points ON points.seq = packed_rounds.params
      JOIN texts AS outcomes ON outcomes.seq = packed_rounds.outcome) AS rounds";

/// Maximum length of the facts, tags or options of a run as JSON, in bytes: all that a document may have, and its escapes.
const JSON_BYTES: usize = 8 << 20;

/// An id that no run has, in place of that of a run by this user.
pub(super) const NO_RUN: &str = "";

/// How long the outputs of a run's rounds may be in all, in bytes, beside [`UNPACKED_OF_PACKED`] times what they take in the store: some
/// that failed may have printed much of the same.
const UNPACKED_BYTES: usize = 128 << 20;
/// Real output is compressed to an eighth.
const UNPACKED_OF_PACKED: usize = 32;

impl Store {
    /// All runs, in the order in which they came into the store.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let sql = "SELECT id, started, finished, oscost, tags, asked, machine_line, rounds, results
                   FROM runs ORDER BY seq";
        self.engine.query(sql, &[])?.iter().map(|row| self.summary(row)).collect()
    }

    pub(super) fn summary(&self, row: &Row) -> Result<RunSummary, StoreError> {
        let id: String = self.column(row, 0)?;
        Ok(RunSummary {
            started: self.column(row, 1)?,
            finished: self.column(row, 2)?,
            oscost: self.column(row, 3)?,
            tags: self.json(row, 4, "tags", &id)?,
            asked: self.json(row, 5, "asked", &id)?,
            rounds: self.count(row, 7)?,
            results: self.count(row, 8)?,
            machine: self.column(row, 6)?,
            id,
        })
    }

    /// The run as a document.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if no run has that id; [`Store::resolve`] finds other names.
    pub fn document(&self, id: &str) -> Result<Document, StoreError> {
        if let Some(document) = self.in_journal(id, |journal| journal.store.document(id))? {
            return Ok(document);
        }
        self.read_document(id)?.ok_or_else(|| self.unknown(id))
    }

    /// Reads the run as a document, within the open transaction, if any.
    pub(super) fn read_document(&self, id: &str) -> Result<Option<Document>, StoreError> {
        // A single statement, so that a writer in between cannot add another run's results.
        let sql = "SELECT started, finished, seed, oscost, tags, asked, machine, core_clock_ghz, area_seconds, bytes, body
                   FROM runs LEFT JOIN packed_results ON run = runs.seq WHERE id = ?1";
        let rows = self.engine.query(sql, &values![id])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let seed: String = self.column(row, 2)?;
        let run = RunInfo {
            id: id.to_owned(),
            started: self.column(row, 0)?,
            finished: self.column(row, 1)?,
            seed: seed.parse().map_err(|_| self.damaged(format!("seed {seed:?} of run {id}")))?,
            oscost: self.column(row, 3)?,
            tags: self.json(row, 4, "tags", id)?,
            asked: self.json(row, 5, "asked", id)?,
            core_clock_ghz: self.json(row, 7, "core_clock_ghz", id)?,
            area_seconds: self.json(row, 8, "area_seconds", id)?,
        };
        let machine = self.json(row, 6, "machine", id)?;
        let results = match self.column::<Option<Vec<u8>>>(row, 10)? {
            None => Vec::new(),
            Some(packed) => unpack_results(&packed, self.count(row, 9)?)
                .map_err(|error| self.damaged(format!("results of run {id}: {error}")))?,
        };
        Ok(Some(Document { schema: SCHEMA, run, machine, results }))
    }

    /// The quiet ratios, `(alu, chase)`, of the latest runs of `key` by the writer of the run `id`, at most `count`. Of a run that the
    /// store does not have, this user is the writer.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn quiet_levels(
        &self,
        key: &str,
        id: &str,
        count: u32,
    ) -> Result<Vec<(f64, f64)>, StoreError> {
        let of_writer = self.engine.is_of_writer("?2");
        let sql = format!(
            "SELECT alu, chase FROM quiet_levels WHERE key = ?1 AND {of_writer}
             ORDER BY seq DESC LIMIT ?3"
        );
        let levels = self.engine.query(&sql, &values![key, id, count])?;
        levels.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    /// The core cycles of a multiplication on a CPU model, if this user has stored them.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn multiplication_cycles(&self, cpu: &str) -> Result<Option<u32>, StoreError> {
        let own = self.engine.is_of_writer("?2");
        let sql = format!("SELECT cycles FROM multiplication_cycles WHERE cpu = ?1 AND {own}");
        self.one_column(&sql, &values![cpu, NO_RUN])
    }

    /// The run's rounds in the order of their numbers.
    pub fn rounds(&self, id: &str) -> Result<Vec<RoundRow>, StoreError> {
        self.rounds_or_counts(id, false)
    }

    /// The run's counting rounds, including those kept from earlier runs.
    pub fn counts(&self, id: &str) -> Result<Vec<RoundRow>, StoreError> {
        self.rounds_or_counts(id, true)
    }

    fn rounds_or_counts(&self, id: &str, only_counts: bool) -> Result<Vec<RoundRow>, StoreError> {
        let in_journal =
            self.in_journal(id, |journal| journal.store.rounds_or_counts(id, only_counts))?;
        if let Some(rounds) = in_journal {
            return Ok(rounds);
        }
        let run = "SELECT seq FROM runs WHERE id = ?1";
        let run: i64 = self.one_column(run, &values![id])?.ok_or_else(|| self.unknown(id))?;
        let sql = format!(
            "SELECT seq, case_name, params, kind, outcome, started_ms, crc32, lines
             FROM {ROUNDS} WHERE run = ?1 AND (NOT ?2 OR kind <> 'round') ORDER BY seq"
        );
        let rows = self.engine.query(&sql, &values![run, only_counts])?;
        let (mut rounds, mut unpacked, mut most) = (Vec::new(), 0, UNPACKED_BYTES);
        for row in &rows {
            let round = self.round(row, id)?;
            unpacked += round.lines.len();
            if let Some(Value::Blob(packed)) = row.0.get(7) {
                most += UNPACKED_OF_PACKED * packed.len();
            }
            if unpacked > most {
                let what = format!("the rounds of run {id} are longer than {} MiB", most >> 20);
                return Err(self.damaged(what));
            }
            rounds.push(round);
        }
        Ok(rounds)
    }

    /// The latest runs that were measured here by the writer of the run `id`, at most `count`, the newest first: id, and the
    /// machine's description.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn latest_machines(
        &self,
        id: &str,
        count: u32,
    ) -> Result<Vec<(String, MachineFacts)>, StoreError> {
        let of_writer = self.engine.is_of_writer("?1");
        let sql = format!(
            "SELECT id, machine FROM runs WHERE plan IS NOT NULL AND rounds > 0 AND {of_writer}
             ORDER BY started_us DESC, seq DESC LIMIT ?2"
        );
        self.machines(&sql, &values![id, count])
    }

    /// Those of [`Store::latest_machines`] with this value of a tag.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn latest_machines_with(
        &self,
        (key, value): (&str, &str),
        id: &str,
        count: u32,
    ) -> Result<Vec<(String, MachineFacts)>, StoreError> {
        let of_writer = self.engine.is_of_writer("?3");
        let sql = format!(
            "SELECT id, machine FROM runs JOIN tags ON tags.run = runs.seq
             WHERE key = ?1 AND value = ?2 AND plan IS NOT NULL AND rounds > 0 AND {of_writer}
             ORDER BY started_us DESC, seq DESC LIMIT ?4"
        );
        self.machines(&sql, &values![key, value, id, count])
    }

    pub(super) fn machines(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<(String, MachineFacts)>, StoreError> {
        let of_row = |row| {
            let id: String = self.column(row, 0)?;
            let machine = self.json(row, 1, "machine", &id)?;
            Ok((id, machine))
        };
        self.engine.query(sql, values)?.iter().map(of_row).collect()
    }

    /// A round of a run that is here.
    pub(super) fn one_round(&self, id: &str, seq: i64) -> Result<RoundRow, StoreError> {
        let sql = format!(
            "SELECT rounds.seq, case_name, params, kind, outcome, started_ms, crc32, lines
             FROM {ROUNDS} JOIN runs ON runs.seq = run WHERE id = ?1 AND rounds.seq = ?2"
        );
        let rows = self.engine.query(&sql, &values![id, seq])?;
        let row =
            rows.first().ok_or_else(|| self.damaged(format!("no round {seq} of run {id}")))?;
        self.round(row, id)
    }

    fn round(&self, row: &Row, id: &str) -> Result<RoundRow, StoreError> {
        let seq = self.count(row, 0)?;
        let packed: Vec<u8> = self.column(row, 7)?;
        let lines = unpack_lines(&packed, self.column(row, 6)?);
        Ok(RoundRow {
            seq,
            case: self.column(row, 1)?,
            params: self.json(row, 2, "params", id)?,
            kind: self.column(row, 3)?,
            outcome: self.column(row, 4)?,
            started_ms: self.column(row, 5)?,
            lines: lines
                .map_err(|error| self.damaged(format!("round {seq} of run {id}: {error}")))?,
        })
    }

    /// The plan of the run; `None` for an imported run.
    pub fn plan(&self, id: &str) -> Result<Option<String>, StoreError> {
        if let Some(plan) = self.in_journal(id, |journal| journal.store.plan(id))? {
            return Ok(plan);
        }
        let sql = "SELECT plan FROM runs WHERE id = ?1";
        self.one_column(sql, &values![id])?.ok_or_else(|| self.unknown(id))
    }

    /// The newest run that has a plan and is not finished, which `run --resume` continues. Another process may be
    /// measuring it now. Of a shared store opened for writing, only runs of this machine count.
    pub fn unfinished(&self) -> Result<Option<String>, StoreError> {
        if let Some(unfinished) = self.unfinished_in_journals()? {
            return Ok(unfinished);
        }
        let sql = "SELECT id FROM runs WHERE finished IS NULL AND plan <> ''
                   ORDER BY seq DESC LIMIT 1";
        self.one_column(sql, &[])
    }

    pub(super) fn unknown(&self, id: &str) -> StoreError {
        let hint = "no run has that id".to_owned();
        StoreError::UnknownRun { asked: id.to_owned(), hint }
    }

    /// The first column of the first row, if there is one.
    pub(super) fn one_column<T: FromValue>(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Option<T>, StoreError> {
        let rows = self.engine.query(sql, values)?;
        rows.first().map(|row| self.column(row, 0)).transpose()
    }

    pub(super) fn column<T: FromValue>(&self, row: &Row, index: usize) -> Result<T, StoreError> {
        T::from_value(row.0.get(index).unwrap_or(&Value::Null))
            .map_err(|found| self.damaged(format!("column {index} is {found}")))
    }

    fn count(&self, row: &Row, index: usize) -> Result<u64, StoreError> {
        let count: i64 = self.column(row, index)?;
        u64::try_from(count).map_err(|_| self.damaged(format!("a count of {count}")))
    }

    /// A column with JSON, called `name`, of the run `id`.
    pub(super) fn json<T: DeserializeOwned>(
        &self,
        row: &Row,
        index: usize,
        name: &str,
        id: &str,
    ) -> Result<T, StoreError> {
        let text: String = self.column(row, index)?;
        if text.len() > JSON_BYTES {
            let (bytes, most) = (text.len(), JSON_BYTES >> 20);
            let what =
                format!("{name} of run {id} has {bytes} bytes, more than {most} MiB, the limit");
            return Err(self.damaged(what));
        }
        serde_json::from_str(&text)
            .map_err(|error| self.damaged(format!("{name} of run {id}: {error}")))
    }
}
