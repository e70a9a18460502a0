//! Answers that a run gives: which design of an application is the fastest in a situation, and by how much.

use catalog::{Application, Area, Design, Select, Situation};
use measure::{Doubt, Params};
use results::{CaseResult, Estimate, Outcome};
use serde::Serialize;

use crate::change::Ratio;
use crate::multiple::ratio;

/// Seed of the bootstrap; it is constant, so that a document always gives the same answers.
const SEED: u64 = 1;

/// The designs of an application in one situation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Name of the area.
    pub area: &'static str,
    /// Name of the application.
    pub application: &'static str,
    /// The application with the conditions: `server, 100 connections at a time`.
    pub of: String,
    /// What the application does, as a sentence.
    pub says: &'static str,
    /// Metric of the figures, a cost: less is better.
    pub metric: &'static str,
    /// What follows the factor between a slower design and the best one: `7.3 times as fast as`.
    pub than: &'static str,
    /// Unit of the figures.
    pub unit: String,
    /// The measured designs, the best first: at least two.
    pub designs: Vec<DesignFigure>,
    /// Names of designs that the run measured, but not in this situation.
    pub left_out: Vec<&'static str>,
}

/// A design with its figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DesignFigure {
    /// Name of the design.
    pub name: &'static str,
    /// Its name in tables and on command lines: the values of the parameters that select it, otherwise its case: `epoll`,
    /// `std-mutex`.
    pub known_as: String,
    /// The measured point: `net/answer{arch=epoll,connections=100}`.
    pub point: String,
    /// The figure, in the answer's unit.
    pub figure: Estimate,
    /// Number of times that the best design is faster: this figure divided by that of the best one. `None` for the best one, and
    /// where there are too few rounds for an interval.
    pub behind: Option<Ratio>,
    /// Whether the load generator limited the figure, so that the design may be faster.
    pub is_bound: bool,
    /// What makes the figure doubtful.
    pub doubts: Vec<Doubt>,
}

impl DesignFigure {
    /// Whether the best design is certainly faster than this one.
    pub fn is_slower(&self) -> bool {
        !self.is_bound && self.behind.is_some_and(|ratio| ratio.low > 1.0)
    }
}

impl Answer {
    /// The designs that may be the fastest: the best one, and all that are not certainly slower.
    pub fn fastest(&self) -> impl Iterator<Item = &DesignFigure> {
        self.designs.iter().filter(|design| !design.is_slower())
    }

    /// The designs that are certainly slower than the best one, the slowest first.
    pub fn slower(&self) -> impl Iterator<Item = &DesignFigure> {
        self.designs.iter().rev().filter(|design| design.is_slower())
    }
}

/// The answers that the results of one run give, those about whole programs first, in reverse order of the areas. A situation in
/// which fewer than two designs were measured has no answer.
pub fn answers(results: &[CaseResult], areas: &[&'static Area]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for area in areas.iter().rev() {
        for application in area.applications {
            let situations = application.situations.iter();
            answers.extend(situations.filter_map(|s| answer(results, area, application, s)));
        }
    }
    answers
}

fn answer(
    results: &[CaseResult],
    area: &Area,
    application: &'static Application,
    situation: &'static Situation,
) -> Option<Answer> {
    let metric = situation.metric;
    let (level, mut found) = levels(results, situation).into_iter().find_map(|level| {
        let found = at_level(results, application, situation, &level);
        (found.len() > 1).then_some((level, found))
    })?;
    let cost = |result: &CaseResult| result.estimate.map_or(f64::INFINITY, |e| e.median);
    found.sort_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
    let (_, best) = *found.first()?;
    let figure = |(design, result): &(&'static Design, &CaseResult)| {
        let is_best = std::ptr::eq(*result, best);
        Some(DesignFigure {
            name: design.name,
            known_as: known_as(design, result),
            point: result.label(),
            figure: result.estimate?,
            behind: if is_best { None } else { ratio(result, best, SEED) },
            is_bound: result.doubts.iter().any(Doubt::is_saturated),
            doubts: result.doubts.clone(),
        })
    };
    Some(Answer {
        area: area.name,
        application: application.name,
        of: situation.name.replace("{}", &level),
        says: application.says,
        metric: metric.name,
        than: situation.than,
        unit: best.unit.clone(),
        designs: found.iter().filter_map(figure).collect(),
        left_out: left_out(results, application, &found),
    })
}

fn left_out(
    results: &[CaseResult],
    application: &Application,
    found: &[(&Design, &CaseResult)],
) -> Vec<&'static str> {
    let is_found = |design: &Design| found.iter().any(|(other, _)| other.name == design.name);
    let is_measured = |design: &Design| {
        let measured = results.iter().filter(|result| result.outcome == Outcome::Measured);
        measured.into_iter().any(|r| design.points.iter().any(|s| s.matches(&r.case, &r.params)))
    };
    let designs = application.designs.iter();
    let left = designs.filter(|design| !is_found(design) && is_measured(design));
    left.map(|design| design.name).collect()
}

/// The name that tables have for the design of this point.
fn known_as(design: &Design, result: &CaseResult) -> String {
    let mut selects = design.points.iter();
    let select = selects.find(|select| select.matches(&result.case, &result.params));
    let values = select.map_or(&[][..], |select| select.params).iter().map(|(_, value)| *value);
    match values.collect::<Vec<&str>>().join(" ") {
        values if values.is_empty() => {
            result.case.split_once('/').map_or(&*result.case, |(_, name)| name).to_owned()
        }
        values => values,
    }
}

/// The values of the situation's level: the usual one, then all that were measured, the greatest first.
fn levels(results: &[CaseResult], situation: &Situation) -> Vec<String> {
    let Some(param) = situation.level else { return vec![String::new()] };
    let usual = situation.params.iter().find(|(name, _)| *name == param);
    let number = |result: &CaseResult| result.params.get(param)?.parse::<u64>().ok();
    let mut measured: Vec<u64> = results.iter().filter_map(number).collect();
    measured.sort_unstable_by_key(|&level| std::cmp::Reverse(level));
    measured.dedup();
    let usual = usual.map(|(_, value)| (*value).to_owned());
    usual.into_iter().chain(measured.iter().map(u64::to_string)).collect()
}

/// The points of the designs in a situation at this level.
fn at_level<'r>(
    results: &'r [CaseResult],
    application: &'static Application,
    situation: &Situation,
    level: &str,
) -> Vec<(&'static Design, &'r CaseResult)> {
    let of_level = situation.level.map(|param| (param, level));
    let params = situation.params.iter().map(|&(name, value)| match of_level {
        Some((param, level)) if name == param => (name, level),
        _ => (name, value),
    });
    let params: Vec<(&str, &str)> = params.collect();
    let mut found: Vec<(&Design, &CaseResult)> = Vec::new();
    for design in application.designs {
        // Designs are compared at points that are equal but for what the designs name.
        let beside: Vec<&CaseResult> = found.iter().map(|(_, other)| *other).collect();
        let result = point(results, design, situation, &params, &beside);
        found.extend(result.map(|result| (design, result)));
    }
    found
}

/// The point of a design with these parameters, and with the other parameters of the points `beside`.
fn point<'r>(
    results: &'r [CaseResult],
    design: &Design,
    situation: &Situation,
    params: &[(&str, &str)],
    beside: &[&CaseResult],
) -> Option<&'r CaseResult> {
    let in_situation = |of_point: &Params| {
        params.iter().all(|(name, value)| of_point.get(*name).is_none_or(|own| own == value))
    };
    let selected = |select: &Select| {
        results.iter().find(|result| {
            result.metric == situation.metric.name
                && result.outcome == Outcome::Measured
                && select.matches(&result.case, &result.params)
                && in_situation(&result.params)
                && beside.iter().all(|other| select.is_beside(&result.params, &other.params))
        })
    };
    design.points.iter().find_map(selected)
}
