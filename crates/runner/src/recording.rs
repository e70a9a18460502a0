//! Runs whose rounds an area makes by itself, and that are stored as other runs are.

use std::collections::BTreeMap;

use measure::record::Line;
use measure::survey::ClockFacts;
use platform::CaseError;
use results::{CaseResult, RoundRow, RunInfo, Store};

use crate::error::RunError;
use crate::id::{new_id, now_rfc3339, unix_ms};
use crate::launch::RoundEnd;
use crate::machine::VERSION;
use crate::plan::Point;
use crate::run::{Ended, conclude, described};
use crate::stored_round::KIND_ROUND;

/// A run whose rounds are made elsewhere. It cannot be resumed: what is stored when its process dies stays unfinished.
pub struct Recording<'s> {
    store: &'s mut Store,
    id: String,
    next_seq: u64,
}

impl<'s> Recording<'s> {
    /// Begins a run with the options that the user gave and with tags.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn begin(
        asked: BTreeMap<String, String>,
        tags: BTreeMap<String, String>,
        seed: u64,
        clock: &ClockFacts,
        store: &'s mut Store,
    ) -> Result<Self, RunError> {
        let info = RunInfo {
            id: new_id(),
            started: now_rfc3339(),
            finished: None,
            seed,
            oscost: VERSION.to_owned(),
            tags,
            asked,
            core_clock_ghz: None,
            area_seconds: BTreeMap::new(),
        };
        store.begin_run(&info, &described(clock), "")?;
        Ok(Self { store, id: info.id, next_seq: 0 })
    }

    /// The present time in ms since 1970, as the beginnings of rounds are stored.
    pub fn now_ms() -> i64 {
        unix_ms()
    }

    /// Stores a round of a point, which began at `started_ms`.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_round(
        &mut self,
        point: &Point,
        lines: &[Line],
        end: Result<(), CaseError>,
        started_ms: i64,
    ) -> Result<(), RunError> {
        let text = |line| serde_json::to_string(line).expect("plain values") + "\n";
        let row = RoundRow {
            seq: self.next_seq,
            case: point.case.clone(),
            params: point.params.clone(),
            kind: KIND_ROUND.to_owned(),
            outcome: serde_json::to_string(&RoundEnd::Reported(end)).expect("plain values"),
            started_ms,
            lines: lines.iter().map(text).collect(),
        };
        self.next_seq += 1;
        Ok(self.store.add_round(&self.id, &row)?)
    }

    /// Ends the run with these results.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn conclude(self, results: &[CaseResult]) -> Result<Ended, RunError> {
        self.store.put_results(&self.id, results)?;
        self.store.finish_run(&self.id, &now_rfc3339())?;
        conclude(self.store, self.id, true)
    }
}
