//! Options of a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::claim::Claim;
use catalog::Extent;
use measure::user_code::UserLibrary;

use super::on::On;
use super::point::Point;

/// A selection of points to measure: cases with values of their parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Cases, areas or patterns.
    pub filters: Vec<String>,
    /// Values of parameters.
    pub params: BTreeMap<String, Vec<String>>,
}

impl Selection {
    /// A selection with the cases of these points and all values of their parameters. It has further points unless the
    /// given ones are all combinations.
    pub fn covering(points: &[Point]) -> Self {
        let mut covering = Self::default();
        let add = |values: &mut Vec<String>, value: &String| {
            if !values.contains(value) {
                values.push(value.clone());
            }
        };
        for point in points {
            add(&mut covering.filters, &point.case);
            for (name, value) in &point.params {
                add(covering.params.entry(name.clone()).or_default(), value);
            }
        }
        covering
    }
}

/// Options of a plan.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Filters by case names (`clock`, `syscall/getppid`, `lock/sysv*`); none means all cases.
    pub filters: Vec<String>,
    /// Values given explicitly for parameters: `workers` to `["1", "8"]`.
    pub params: BTreeMap<String, Vec<String>>,
    /// Several selections with their own filters and values, which replace `filters` and `params`.
    pub selections: Vec<Selection>,
    /// Claims whose points are measured, which replace `filters`, `params` and `selections`. Their names must have been
    /// checked ([`analysis::claim::check_names`]).
    pub claims: Vec<Claim>,
    /// The systems on which the points of claims are measured.
    pub on: On,
    /// Whether all values of all parameters are measured.
    pub full: bool,
    /// Whether the run is quick: fewer rounds, less time.
    pub quick: bool,
    /// Half-width of the interval at which a point is complete, as a share.
    pub precision: Option<f64>,
    /// Maximum time for the whole run.
    pub budget: Option<Duration>,
    /// Seed of the order of rounds.
    pub seed: Option<u64>,
    /// The CPU for single measurements.
    pub cpu: Option<usize>,
    /// Injected slowdown, as a share, for a self-check.
    pub slow_down: Option<f64>,
    /// Factor for the length of batches where tasks answer each other.
    pub partner_batches: Option<f64>,
    /// Factor for the lengths of all jobs.
    pub scale: Option<f64>,
    /// Number of observations that each sampled point needs, if a table shows that many.
    pub observations: Option<usize>,
    /// Number of trials of each point whose rounds are trials.
    pub trials: Option<usize>,
    /// Maximum number of trials, if some are disturbed or differ too much.
    pub trials_at_most: Option<usize>,
    /// Number of starts of a system; `None` if it is started once.
    pub boots: Option<usize>,
    /// Whether a system is started for each round.
    pub fresh: bool,
    /// The user's own functions or commands to be measured; nothing else is measured unless there are filters.
    pub user: Vec<(Point, UserLibrary)>,
}

/// The extent of the run: `quick` takes precedence over `full`.
pub(super) fn extent_of(options: &Options) -> Extent {
    match (options.quick, options.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Ordinary,
    }
}
