//! The list of studies.

use std::time::Duration;

/// A study in the list of studies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyLine {
    /// Name of the study.
    pub name: String,
    /// Question that the study answers.
    pub question: String,
    /// Time that the study takes by default.
    pub takes: Duration,
    /// Time that the study takes with the original sizes.
    pub takes_in_full: Duration,
}
