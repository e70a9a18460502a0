//! Compares equal with equal: the differences between runs that should not differ.

use std::collections::BTreeMap;

use results::{Document, PointKey};

use crate::change::Sides;
use crate::scope::pairs;

/// The largest differences, as shares, between runs of the same system on the same machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoiseCheck {
    seen: BTreeMap<(PointKey, String, bool), f64>,
    checks: usize,
}

impl NoiseCheck {
    /// Adds two runs that should not differ.
    pub fn add(&mut self, first: &Document, second: &Document) {
        self.checks += 1;
        let sides = Sides::of(first, second);
        for (base, new) in pairs(first, second) {
            let change = new.and_then(|new| sides.change(base, new));
            let Some(change) = change.filter(|change| change.log) else { continue };
            let share = change.by.abs().exp_m1();
            let row = (base.point(), base.metric.clone(), change.in_cycles);
            let known = self.seen.entry(row).or_default();
            *known = known.max(share);
        }
    }

    /// Number of pairs of runs added.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// The largest difference of this point and metric, compared in cycles or in the unit of the result; `None` if it was never
    /// checked.
    pub fn of(&self, point: &PointKey, metric: &str, in_cycles: bool) -> Option<f64> {
        self.seen.get(&(point.clone(), metric.to_owned(), in_cycles)).copied()
    }

    /// The median and the largest of all differences; `None` if there are none.
    pub fn summary(&self) -> Option<(f64, f64)> {
        let mut all: Vec<f64> = self.seen.values().copied().collect();
        let largest = all.iter().copied().fold(0.0, f64::max);
        (!all.is_empty()).then(|| (measure::stats::median(&mut all), largest))
    }
}
