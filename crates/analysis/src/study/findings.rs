//! A study with the figures and verdicts of some runs.

use results::Document;

use super::figures::{Figures, MeasuredTable};
use super::model::Study;
use crate::claim::{JudgedClaim, judge_runs};

/// A study with its tables filled and its claims judged by runs, each of one system.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFindings<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs.
    pub runs: &'a [Document],
    /// Tables of the study with the figures measured here.
    pub tables: Vec<MeasuredTable>,
    /// Claims of the study with their verdicts; a claim has one for each system by which it is judged.
    pub claims: Vec<JudgedClaim>,
    /// Names that claims use for some of the systems, each with the id of a run.
    pub named: Vec<(String, String)>,
}

impl<'a> StudyFindings<'a> {
    /// Fills the tables and judges the claims by these runs.
    pub fn of(study: &'a Study, runs: &'a [Document]) -> Self {
        Self::of_runs(study, runs, false)
    }

    /// Fills the tables and judges the claims as [`Self::of`] does, with `across_machines` also claims that compare runs of different
    /// machines.
    pub fn of_runs(study: &'a Study, runs: &'a [Document], across_machines: bool) -> Self {
        let claims = judge_runs(&study.claims_on(runs), runs, across_machines);
        let figures = Figures { study, runs, claims: &claims };
        let tables = study.tables.iter().map(|table| figures.table(table)).collect();
        Self { study, runs, tables, named: study.names_of_runs(runs), claims }
    }
}
