//! What is printed of a study.

use std::time::Duration;

use analysis::claim::JudgedClaim;
use analysis::study::{MeasuredTable, Study};
use results::Document;

/// A study in the list of studies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyLine {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// How long it takes by default.
    pub takes: Duration,
    /// How long it takes with the original sizes.
    pub takes_in_full: Duration,
}

/// A study with what was measured.
#[derive(Debug, Clone, Copy)]
pub struct StudyPage<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its tables with the figures measured here.
    pub tables: &'a [MeasuredTable],
    /// Its claims with their verdicts.
    pub claims: &'a [JudgedClaim],
    /// The runs that it is judged by.
    pub runs: &'a [Document],
    /// The names of systems that claims use for some of them, each with the id of the run.
    pub named: &'a [(String, String)],
}
