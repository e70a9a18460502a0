//! Takes over a run from a journal. Each step can be repeated, whatever came of it before: a run is known by its id, a round by
//! its number, so that nothing is stored twice.

use std::collections::BTreeSet;

use super::engine::{json, values};
use super::writing::check_round;
use super::{RoundRow, Store, StoreError};
use crate::document::{CaseResult, RunInfo};

/// How many rounds are sent at once.
const TOGETHER: usize = 64;
/// How many bytes of rounds' output are sent at once, unless one round has more.
const BYTES_TOGETHER: usize = 4 << 20;

impl Store {
    /// Takes over all that `journal` has of a run; true if the run is finished and all of it is here.
    pub(super) fn receive(&self, journal: &Store, id: &str) -> Result<bool, StoreError> {
        self.receive_beginning(journal, id)?;
        let known = self.seqs(id)?;
        let mut after = None;
        loop {
            let rounds = journal.rounds_after(id, after)?;
            let Some(last) = rounds.last() else { break };
            after = Some(last.seq);
            let missing: Vec<RoundRow> =
                rounds.into_iter().filter(|round| !known.contains(&round.seq)).collect();
            if !missing.is_empty() {
                self.receive_rounds(id, &missing)?;
            }
        }
        let document = journal.document(id)?;
        let is_finished = document.run.finished.is_some();
        self.receive_results(&document.run, &document.results.iter().collect::<Vec<_>>())?;
        // What is acknowledged is what the server says it has, not what was sent.
        let here = self.read_document(id)?.ok_or_else(|| self.unknown(id))?;
        let has_all = here.run == document.run
            && here.results == document.results
            && self.seqs(id)?.is_superset(&journal.seqs(id)?);
        match (is_finished, has_all) {
            (true, false) => Err(StoreError::RunDiffers { id: id.to_owned() }),
            (is_finished, _) => Ok(is_finished),
        }
    }

    /// Takes over the beginning of a run, if it is not here.
    pub(super) fn receive_beginning(&self, journal: &Store, id: &str) -> Result<(), StoreError> {
        let document = journal.document(id)?;
        let begun = RunInfo { finished: None, ..document.run.clone() };
        let writing = self.write()?;
        if self.insert_run(&begun, &document.machine, journal.plan(id)?.as_deref())? {
            return writing.commit();
        }
        // Only the user who began the run may add to it.
        self.run_to_change(id)?;
        drop(writing);
        let here = self.read_document(id)?.ok_or_else(|| self.unknown(id))?.run;
        match (&here.started, here.seed) == (&begun.started, begun.seed) {
            true => Ok(()),
            false => Err(StoreError::RunDiffers { id: id.to_owned() }),
        }
    }

    /// Takes over rounds of a run, in one transaction; those that are here stay as they are.
    pub(super) fn receive_rounds(&self, id: &str, rounds: &[RoundRow]) -> Result<(), StoreError> {
        rounds.iter().try_for_each(|round| check_round(id, round))?;
        let writing = self.write()?;
        let run = self.run_to_change(id)?;
        self.insert_rounds(run, rounds)?;
        writing.commit()
    }

    /// Takes over the results of a run, and its end if it has one.
    fn receive_results(&self, run: &RunInfo, results: &[&CaseResult]) -> Result<(), StoreError> {
        let writing = self.write()?;
        self.write_results(&run.id, results)?;
        let sql =
            "UPDATE runs SET finished = ?2, core_clock_ghz = ?3, area_seconds = ?4 WHERE id = ?1";
        let (clock, seconds) = (json(&run.core_clock_ghz), json(&run.area_seconds));
        self.engine.execute(sql, &values![&run.id, run.finished.as_ref(), clock, seconds])?;
        writing.commit()
    }

    /// The numbers of the run's rounds.
    fn seqs(&self, id: &str) -> Result<BTreeSet<u64>, StoreError> {
        let sql =
            "SELECT packed_rounds.seq FROM packed_rounds JOIN runs ON runs.seq = run WHERE id = ?1";
        let rows = self.engine.query(sql, &values![id])?;
        rows.iter().map(|row| self.column(row, 0).map(|seq: i64| seq as u64)).collect()
    }

    /// The next rounds of a run after the one with this number, in order: some, but not too many bytes at once.
    pub(super) fn rounds_after(
        &self,
        id: &str,
        seq: Option<u64>,
    ) -> Result<Vec<RoundRow>, StoreError> {
        let sql = "SELECT packed_rounds.seq FROM packed_rounds JOIN runs ON runs.seq = run
                   WHERE id = ?1 AND packed_rounds.seq > ?2 ORDER BY packed_rounds.seq LIMIT ?3";
        let after = seq.map_or(-1, |seq| seq as i64);
        let (mut rounds, mut bytes) = (Vec::new(), 0);
        for row in self.engine.query(sql, &values![id, after, TOGETHER as i64])? {
            let round = self.one_round(id, self.column(&row, 0)?)?;
            bytes += round.lines.len();
            rounds.push(round);
            if bytes >= BYTES_TOGETHER {
                break;
            }
        }
        Ok(rounds)
    }
}
