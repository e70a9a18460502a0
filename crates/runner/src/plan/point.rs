//! Points: cases with their parameters.

use std::time::Duration;

use catalog::trials_of;
use measure::Params;
use serde::{Deserialize, Serialize};

/// A case with a value for each of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// The case, `area/name`.
    pub case: String,
    /// Parameters.
    pub params: Params,
}

impl Point {
    /// The case with its parameters in the usual notation.
    pub fn label(&self) -> String {
        results::label(&self.case, &self.params)
    }

    /// The area of the case.
    pub fn area(&self) -> &str {
        self.case.split('/').next().unwrap_or(&self.case)
    }

    /// The key of points whose time depends on the core's frequency in the same way: the case, or the point where each has
    /// its own code.
    pub(crate) fn kind(&self) -> String {
        let runs_user_code = catalog::find(&self.case).is_some_and(|case| case.runs_user_code);
        if runs_user_code { self.label() } else { self.case.clone() }
    }

    /// Whether the case is core-bound.
    pub(crate) fn is_core_bound(&self) -> bool {
        catalog::find(&self.case)
            .is_some_and(|case| case.core_bound && !case.works_for_a_time(&self.params))
    }

    /// Whether an operation includes work of a given length, calibrated during the run, so that neither cycles nor the
    /// dependence on the frequency can be compared with another run's.
    pub(crate) fn works_for_a_time(&self) -> bool {
        catalog::find(&self.case).is_some_and(|case| case.works_for_a_time(&self.params))
    }

    /// Approximate duration of one trial; `None` for a case whose operation is timed in batches.
    pub fn trial_takes(&self) -> Option<Duration> {
        trials_of(&self.case, &self.params).map(|trials| (trials.takes)(&self.params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_with_work_of_a_given_length_is_not_core_bound() {
        simulated::areas::install();
        let with_work = |work: &str| Point {
            case: "lock/std-mutex".to_owned(),
            params: [("work".to_owned(), work.to_owned())].into_iter().collect(),
        };
        assert!(with_work("none").is_core_bound() && with_work("loop100").is_core_bound());
        assert!(!with_work("1us").is_core_bound());
    }
}
