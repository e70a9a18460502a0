//! The result of judging a claim.

use measure::stats::LEVEL;
use results::{Estimate, PointKey, serialize_label};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use super::found::Datum;
use super::model::{Claim, Rank, Side, Statement};
use super::selection::Group;
use super::systems::name_of;

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ClaimVerdict {
    /// The claim is significantly true.
    Holds,
    /// The claim is significantly false.
    Fails,
    /// Neither is significant.
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
    /// Note on an undecided claim that says what would decide it, or what is missing; for a claim that holds or fails, `beside
    /// load` if most rounds were disturbed, otherwise empty.
    pub note: String,
    /// Points that the measured system lacks, each with the reason: the verdict is about the others.
    pub left_out: Vec<String>,
    /// One comparison for each combination of the values of the parameters that the claim leaves open; empty if nothing is
    /// measurable.
    pub comparisons: Vec<JudgedComparison>,
}

/// Comparison for one combination of the values of the open parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedComparison {
    /// Figure of side `a`; for a relation over a parameter, the one at its largest value; for a rank, that of the system which
    /// seems to have it.
    pub a: SideFigure,
    /// Figure of side `b`, if there is one.
    pub b: Option<SideFigure>,
    /// Number of systems that were ranked; `None` for a claim without ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems: Option<usize>,
    /// Parameter of the relation.
    pub over: Option<String>,
    /// Measured values of that parameter.
    pub values: Option<Vec<String>>,
    /// Quantity of the relation: `value`, `ratio`, `crossing`, `slope` or `smallest step`.
    pub quantity: &'static str,
    /// Unit of `mid`, `low` and `high`; empty for a ratio.
    pub unit: String,
    /// The quantity with its interval, which is simultaneous with all others of the file; infinite at an end that is open.
    pub interval: Option<QuantityInterval>,
    /// Whether this combination holds or fails by itself.
    pub verdict: ClaimVerdict,
    /// Note on an undecided combination that says what would decide it; for one that holds or fails, `beside load` if most rounds
    /// were disturbed, otherwise empty.
    pub note: String,
}

/// A quantity with its interval. An open end is null in JSON, which has no infinity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantityInterval {
    /// Value of the quantity.
    pub mid: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
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
    /// Name of the measured system.
    pub system: String,
    /// Rank by which the claim names the system: it has this rank by its estimate, whether or not that is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// Unit of the figure.
    pub unit: String,
    /// Figure with its own interval.
    pub estimate: Estimate,
}

impl SideFigure {
    fn of(datum: &Datum, side: &Side) -> Option<Self> {
        let exact = |count| Estimate { median: count, low: count, high: count, level: LEVEL };
        let (estimate, unit) = match datum.count {
            Some(count) => (exact(count), super::per_op::UNIT.to_owned()),
            None => (datum.result.estimate?, datum.result.unit.clone()),
        };
        let (point, metric) = (datum.result.point(), side.metric.value.clone());
        let (system, rank) = (name_of(datum.document), side.rank());
        Some(Self { point, metric, system, rank, unit, estimate })
    }
}

impl JudgedComparison {
    pub(super) fn of(
        group: &Group,
        pair: usize,
        statement: &Statement,
        interval: Option<QuantityInterval>,
        verdict: ClaimVerdict,
        note: String,
    ) -> Option<Self> {
        let (_, shown) = group.pairs.get(pair)?;
        let relation = &statement.relation.value;
        let over = relation.quantity.over();
        let values = over.map(|over| {
            let values = group.pairs.iter().filter_map(|(_, pair)| pair.a.result.params.get(over));
            values.cloned().collect()
        });
        let a = SideFigure::of(&shown.a, &statement.a)?;
        let b = statement.b.as_ref().zip(shown.b.as_ref());
        let unit = if relation.quantity.word() == "value" { a.unit.clone() } else { String::new() };
        Some(Self {
            b: b.and_then(|(side, datum)| SideFigure::of(datum, side)),
            a,
            systems: group.ranking.as_ref().map(|ranking| ranking.systems),
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
