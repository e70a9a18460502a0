//! Data of a study that are printed.

use std::time::Duration;

use analysis::claim::JudgedClaim;
use analysis::study::{MeasuredTable, Study};
use results::Document;

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

/// A study with its measured figures.
#[derive(Debug, Clone, Copy)]
pub struct StudyPage<'a> {
    /// The study.
    pub study: &'a Study,
    /// Tables of the study with the figures measured here.
    pub tables: &'a [MeasuredTable],
    /// Claims of the study with their verdicts.
    pub claims: &'a [JudgedClaim],
    /// Runs by which the study is judged.
    pub runs: &'a [Document],
    /// Names that claims use for some of the systems, each with the id of the run.
    pub named: &'a [(String, String)],
}
