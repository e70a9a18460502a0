//! What a claim consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::location::{Located, Location};
use super::relation::Relation;

/// A sentence about figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its name, unique in its file.
    pub name: String,
    /// The sentence, as people read it.
    pub sentence: String,
    /// Who said so, or where it was published.
    pub source: Option<String>,
    /// Where it begins in its file.
    pub at: Location,
    /// What is compared.
    pub content: Content,
}

impl Claim {
    /// Its sides: none if no case measures what it needs.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        let statement = match &self.content {
            Content::Statement(statement) => Some(statement),
            Content::Missing(_) => None,
        };
        statement
            .into_iter()
            .flat_map(|statement| std::iter::once(&statement.a).chain(&statement.b))
    }
}

/// What a claim compares.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A relation of figures.
    Statement(Box<Statement>),
    /// Nothing: no case measures what it needs, which is this.
    Missing(String),
}

/// A relation of figures that cases measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The figures.
    pub a: Side,
    /// The figures that they are compared with; `None` if the relation compares them with a number.
    pub b: Option<Side>,
    /// The relation.
    pub relation: Located<Relation>,
    /// For which values of the parameters that are left open it is claimed.
    pub scope: Scope,
}

/// Selects figures: points of a case, one of their metrics, and the system that was measured.
///
/// What side `b` leaves out is as in side `a`: the case, the metric, the system, and each parameter that both cases have.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// `area/name`.
    pub case: Located<String>,
    /// The values of parameters; every value of those left out.
    pub params: BTreeMap<String, Located<Vec<String>>>,
    /// The metric.
    pub metric: Located<String>,
    /// The system; if left out, the first one of the run.
    pub system: Option<Located<String>>,
}

/// For which values of the parameters that are left open a relation is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// There is one combination of values.
    #[serde(rename = "at")]
    At,
    /// For each combination.
    #[serde(rename = "for all")]
    ForAll,
    /// For one combination at least.
    #[serde(rename = "for some")]
    ForSome,
}

impl Scope {
    /// As written in files.
    pub fn word(self) -> &'static str {
        match self {
            Scope::At => "at",
            Scope::ForAll => "for all",
            Scope::ForSome => "for some",
        }
    }
}
