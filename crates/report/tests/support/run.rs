//! The description of a run.

use std::collections::BTreeMap;

use results::{Interval, RunInfo};

/// A run on a core of 3.75 GHz.
pub fn run_at_3_75_ghz() -> RunInfo {
    RunInfo {
        id: "20261121-203655-4f2a".to_owned(),
        started: "2026-11-21T20:36:55Z".to_owned(),
        finished: None,
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: BTreeMap::new(),
        asked: BTreeMap::new(),
        core_clock_ghz: Some(Interval { low: 3.35, median: 3.75, high: 3.85 }),
        area_seconds: BTreeMap::new(),
    }
}
