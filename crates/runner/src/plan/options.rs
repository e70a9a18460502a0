//! The options of a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::claim::Claim;
use catalog::Extent;
use measure::user_code::UserCode;

use super::on::On;
use super::point::Point;

/// Points to measure: cases with values of their parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Cases, areas or patterns.
    pub filters: Vec<String>,
    /// Values of parameters.
    pub params: BTreeMap<String, Vec<String>>,
}

impl Selection {
    /// The cases of these points, and all values that their parameters have: it contains the points, and further ones if they
    /// are not all combinations of these.
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

/// The options of a plan.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Parts of case names (`clock`, `syscall/getppid`, `lock/sysv*`); none means all.
    pub filters: Vec<String>,
    /// Values given explicitly for parameters: `workers` to `["1", "8"]`.
    pub params: BTreeMap<String, Vec<String>>,
    /// Several selections with filters and values of their own, which replace the above.
    pub selections: Vec<Selection>,
    /// Claims whose points are measured, which replace all of the above. Their names must have been checked
    /// ([`analysis::claim::check_names`]).
    pub claims: Vec<Claim>,
    /// Where the points of claims are measured.
    pub on: On,
    /// All values of all parameters.
    pub full: bool,
    /// Fewer rounds, less time.
    pub quick: bool,
    /// Half-width of the interval at which a point is complete, as a share.
    pub precision: Option<f64>,
    /// Longest time for the whole run.
    pub budget: Option<Duration>,
    /// Seed of the order of rounds.
    pub seed: Option<u64>,
    /// The CPU for single measurements.
    pub cpu: Option<usize>,
    /// Injected slowdown, as a share: a self-check.
    pub slow_down: Option<f64>,
    /// The length of batches where tasks answer each other, as a multiple of the usual one.
    pub partner_batches: Option<f64>,
    /// Factor for the lengths of all jobs.
    pub scale: Option<f64>,
    /// The number of figures of rounds that each sampled point needs, if a table shows so many.
    pub observations: Option<usize>,
    /// Number of trials of each point whose rounds are trials.
    pub trials: Option<usize>,
    /// The largest number of trials, if some are disturbed or differ too much.
    pub trials_at_most: Option<usize>,
    /// The number of starts of a system that rounds come from; `None` if it is started once.
    pub boots: Option<usize>,
    /// Start a system for each round.
    pub fresh: bool,
    /// The user's own functions or commands to be measured. If there are any and no filters, nothing else is measured.
    pub user: Vec<(Point, UserCode)>,
}

/// The extent of the run: `quick` takes precedence over `full`.
pub(super) fn extent_of(options: &Options) -> Extent {
    match (options.quick, options.full) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Full,
        _ => Extent::Ordinary,
    }
}
