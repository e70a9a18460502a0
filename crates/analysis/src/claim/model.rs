//! Parts of a claim.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::location::{Located, Location};
use super::relation::Relation;

/// A sentence about figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Name of the claim, unique in its file.
    pub name: String,
    /// The claim as a sentence for readers.
    pub sentence: String,
    /// Author or publication of the claim.
    pub source: Option<String>,
    /// Location of the claim in its file.
    pub at: Location,
    /// Comparison that the claim makes.
    pub content: Content,
    /// Systems by which the claim is judged, if it was divided by the systems that its names mean; otherwise empty.
    pub on: Vec<String>,
}

impl Claim {
    /// The name, with the systems by which the claim is judged if it was divided: `linux-below-1us on native`.
    pub fn title(&self) -> String {
        match &self.on[..] {
            [] => self.name.clone(),
            on => format!("{} on {}", self.name, on.join(" and ")),
        }
    }

    /// Sides of the claim; none if no case measures what it needs.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        let statement = match &self.content {
            Content::Statement(statement) => Some(statement),
            Content::Missing(_) => None,
        };
        statement
            .into_iter()
            .flat_map(|statement| std::iter::once(&statement.a).chain(&statement.b))
    }

    /// Whether the claim may be about counts per operation, which the untimed pass makes.
    pub fn is_about_counts(&self) -> bool {
        self.sides().any(|side| super::per_op::is_count(&side.metric.value))
    }
}

/// Content of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A relation of figures.
    Statement(Box<Statement>),
    /// No case measures what the claim needs, which is this.
    Missing(String),
}

/// A relation of figures that cases measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Figures of side `a`.
    pub a: Side,
    /// Figures of side `b`; `None` if the relation compares `a` with a number.
    pub b: Option<Side>,
    /// Relation between the sides.
    pub relation: Located<Relation>,
    /// The values of open parameters for which the relation is claimed.
    pub scope: Scope,
}

/// Selects figures: points of a case, one of their metrics, and the measured system.
///
/// Side `b` takes what it leaves out from side `a`: the case, the metric, the system, and each parameter that both cases have.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Name of the case, `area/name`.
    pub case: Located<String>,
    /// Values of parameters; a parameter that is left out has every value.
    pub params: BTreeMap<String, Located<Vec<String>>>,
    /// The metric.
    pub metric: Located<String>,
    /// Name of the system, or a [rank](Side::rank); if left out, the first one of the run.
    pub system: Option<Located<String>>,
}

/// Position of a system among all that were measured, by the figures of its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Rank {
    /// The system with the best figure.
    Best,
    /// The system with the worst figure.
    Worst,
    /// The best of the systems other than that of side `a`.
    Next,
}

impl Rank {
    /// The word in claim files.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Side {
    /// The rank that stands for the system's name.
    pub fn rank(&self) -> Option<Rank> {
        self.system.as_ref()?.value.parse().ok()
    }

    /// Whether the figures are those of `a`, since the side gives nothing else itself.
    pub(super) fn selects_same_as(&self, a: &Side) -> bool {
        let values = |side: &Side, name: &String| side.params.get(name).map(|it| it.value.clone());
        self.case.value == a.case.value
            && self.metric.value == a.metric.value
            && self.params.keys().all(|name| values(self, name) == values(a, name))
    }

    /// The system that the side names.
    pub fn named_system(&self) -> Option<&Located<String>> {
        self.system.as_ref().filter(|_| self.rank().is_none())
    }
}

impl Statement {
    /// Whether a side has a rank, so that the figures of all systems decide.
    pub fn has_rank(&self) -> bool {
        std::iter::once(&self.a).chain(&self.b).any(|side| side.rank().is_some())
    }
}

/// The values of open parameters for which a relation is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// There is one combination of values.
    #[serde(rename = "at")]
    At,
    /// The relation is claimed for each combination.
    #[serde(rename = "for all")]
    ForAll,
    /// The relation is claimed for at least one combination.
    #[serde(rename = "for some")]
    ForSome,
}

impl Scope {
    /// The word in claim files.
    pub fn word(self) -> &'static str {
        match self {
            Scope::At => "at",
            Scope::ForAll => "for all",
            Scope::ForSome => "for some",
        }
    }
}
