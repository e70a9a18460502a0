//! What is measured: a case with its parameters.

use std::time::Duration;

use cases::trials_of;
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

    /// What has the same share of work bound by the core's frequency: the rounds of all points of a case, but of the user's
    /// functions each.
    pub(crate) fn kind(&self) -> String {
        if self.case == cases::op::CASE_NAME { self.label() } else { self.case.clone() }
    }

    /// Whether the time of an operation is the core's alone.
    pub(crate) fn is_core_bound(&self) -> bool {
        cases::find(&self.case).is_some_and(|case| case.core_bound)
    }

    /// Approximate duration of one trial; `None` for a case whose operation is timed in batches.
    pub fn trial_takes(&self) -> Option<Duration> {
        trials_of(&self.case).map(|trials| (trials.takes)(&self.params))
    }
}
