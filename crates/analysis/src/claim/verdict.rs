//! What is known of a claim after it was judged.

use measure::stats::LEVEL;
use results::{Estimate, PointKey, serialize_label};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use super::found::Datum;
use super::model::{Claim, Statement};
use super::selection::Group;
use super::systems::name_of;

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ClaimVerdict {
    /// Significantly true.
    Holds,
    /// Significantly false.
    Fails,
    /// Neither.
    Undecided,
    /// There are no figures.
    #[strum(serialize = "not measurable")]
    NotMeasurable,
}

impl ClaimVerdict {
    /// The verdict in words.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedClaim {
    /// The claim.
    pub claim: Claim,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// What would decide it, or what is missing; if it holds or fails, `beside load` where most rounds were disturbed, or empty.
    pub note: String,
    /// Points that the measured system lacks, each with the reason: the verdict is about the others.
    pub left_out: Vec<String>,
    /// One for each combination of the values of the parameters that the claim leaves open; empty if nothing is measurable.
    pub comparisons: Vec<JudgedComparison>,
}

/// One combination of the values of the open parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedComparison {
    /// The figure of side `a`: of a relation over a parameter, that at its largest value.
    pub a: SideFigure,
    /// The figure of side `b`, if there is one.
    pub b: Option<SideFigure>,
    /// The parameter that the relation is over.
    pub over: Option<String>,
    /// Its measured values.
    pub values: Option<Vec<String>>,
    /// What the relation is about: `value`, `ratio`, `crossing`, `slope` or `smallest step`.
    pub quantity: &'static str,
    /// Its unit, in which `mid`, `low` and `high` are; empty for a ratio.
    pub unit: String,
    /// The quantity with its interval, which holds together with all others of the file; infinite at an end that is open.
    pub interval: Option<QuantityInterval>,
    /// Whether this combination holds or fails by itself.
    pub verdict: ClaimVerdict,
    /// What would decide it; if it holds or fails, `beside load` where most rounds were disturbed, or empty.
    pub note: String,
}

/// A quantity with its interval. An end that is open is null in JSON, which has no infinity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantityInterval {
    /// The quantity.
    pub mid: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A figure of one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideFigure {
    /// The point, in JSON as its label: `lock/futex{workers=2}`.
    #[serde(rename = "case", serialize_with = "serialize_label")]
    pub point: PointKey,
    /// The metric.
    pub metric: String,
    /// The system that was measured.
    pub system: String,
    /// Its unit.
    pub unit: String,
    /// The figure with its own interval.
    pub estimate: Estimate,
}

impl SideFigure {
    fn of(datum: &Datum, metric: &str) -> Option<Self> {
        let exact = |count| Estimate { median: count, low: count, high: count, level: LEVEL };
        let (estimate, unit) = match datum.count {
            Some(count) => (exact(count), super::per_op::UNIT.to_owned()),
            None => (datum.result.estimate?, datum.result.unit.clone()),
        };
        let (point, metric) = (datum.result.point(), metric.to_owned());
        Some(Self { point, metric, system: name_of(datum.document), unit, estimate })
    }
}

impl JudgedComparison {
    pub(super) fn of(
        group: &Group,
        statement: &Statement,
        interval: Option<QuantityInterval>,
        verdict: ClaimVerdict,
        note: String,
    ) -> Option<Self> {
        let (_, last) = group.pairs.last()?;
        let relation = &statement.relation.value;
        let over = relation.quantity.over();
        let values = over.map(|over| {
            let values = group.pairs.iter().filter_map(|(_, pair)| pair.a.result.params.get(over));
            values.cloned().collect()
        });
        let a = SideFigure::of(&last.a, &statement.a.metric.value)?;
        let b = statement.b.as_ref().zip(last.b.as_ref());
        let unit = if relation.quantity.word() == "value" { a.unit.clone() } else { String::new() };
        Some(Self {
            b: b.and_then(|(side, datum)| SideFigure::of(datum, &side.metric.value)),
            a,
            over: over.map(str::to_owned),
            values,
            quantity: relation.quantity.word(),
            unit,
            interval,
            verdict,
            note,
        })
    }
}
