//! Equal against equal: what two runs that should not differ did differ by.

use std::collections::BTreeMap;

use results::Document;

use crate::compare::{log_medians, pairs};

/// The largest differences, as shares, seen between runs of the same thing on the same machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoiseCheck {
    seen: BTreeMap<(String, String), f64>,
    checks: usize,
}

impl NoiseCheck {
    /// Takes in two runs that should not differ.
    pub fn add(&mut self, first: &Document, second: &Document) {
        self.checks += 1;
        for (base, new) in pairs(first, second) {
            let Some((base_log, new_log)) = new.and_then(|new| log_medians(base, new)) else {
                continue;
            };
            let share = (base_log - new_log).abs().exp_m1();
            let known = self.seen.entry((base.label(), base.metric.clone())).or_default();
            *known = known.max(share);
        }
    }

    /// How many pairs of runs were taken in.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// What this case and metric was seen to differ by; `None` if it was never checked.
    pub fn of(&self, label: &str, metric: &str) -> Option<f64> {
        self.seen.get(&(label.to_owned(), metric.to_owned())).copied()
    }

    /// The median and the largest of all differences seen; `None` if there are none.
    pub fn summary(&self) -> Option<(f64, f64)> {
        let mut all: Vec<f64> = self.seen.values().copied().collect();
        let largest = all.iter().copied().fold(0.0, f64::max);
        (!all.is_empty()).then(|| (measure::stats::median(&mut all), largest))
    }
}
