//! What is measured: a case with its parameters.

use std::time::Duration;

use catalog::trials_of;
use measure::Params;
use serde::{Deserialize, Serialize};

/// One case with a value for each of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// `area/name`.
    pub case: String,
    /// Its parameters.
    pub params: Params,
}

impl Point {
    /// The case with its parameters in the usual notation.
    pub fn label(&self) -> String {
        results::label(&self.case, &self.params)
    }

    /// The area of its case.
    pub fn area(&self) -> &str {
        self.case.split('/').next().unwrap_or(&self.case)
    }

    /// What has the same share of work bound by the core's frequency: the rounds of all points of a case, but of the user's
    /// functions each.
    pub(crate) fn kind(&self) -> String {
        if self.case == cases::op::CASE_NAME { self.label() } else { self.case.clone() }
    }

    /// Whether the time of an operation is the core's alone.
    pub(crate) fn is_core_bound(&self) -> bool {
        catalog::find(&self.case)
            .is_some_and(|case| case.core_bound && !case.works_for_a_time(&self.params))
    }

    /// Whether an operation includes work of a given length, calibrated in the course of the run: neither its cycles nor how its
    /// time follows the frequency can be compared with another run's.
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
        let with_work = |work: &str| Point {
            case: "lock/std-mutex".to_owned(),
            params: [("work".to_owned(), work.to_owned())].into_iter().collect(),
        };
        assert!(with_work("none").is_core_bound() && with_work("loop100").is_core_bound());
        assert!(!with_work("1us").is_core_bound());
    }
}
