//! A figure that a case reports beside the time of one operation: its name, unit and direction, in one place.

use crate::record::{Combine, Direction};

/// What a metric is. Each area lists its own; results carry the name, the unit and the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name within its case.
    pub name: &'static str,
    /// The unit of its values, as in results: `ns`, `replies/s`, `share`.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Direction,
    /// What becomes of the values of several rounds.
    pub combine: Combine,
    /// What it means, for the case's definition.
    pub meaning: &'static str,
    /// How two runs are compared by it.
    pub role: Role,
}

/// How two runs are compared by a metric that has a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// By itself; not where something else than the thing measured limited it.
    Figure,
    /// As [`Role::Figure`], and also where the load generator or the receiver was the bottleneck: it is what the measured program
    /// itself has spent on an operation.
    OwnCost,
    /// As [`Role::Figure`], and also where connections failed: it says how many.
    Failures,
    /// Not at all where the point also has the metric of this name, of which it is the reciprocal or a fixed multiple.
    SameAs(&'static str),
    /// Not at all: it is computed from several points of a run, which are compared.
    Derived,
}

/// The time of one operation, which every case has.
pub const TIME: Metric = Metric::lower("time", "ns/op", "the time of one operation");

impl Metric {
    /// One of which higher values are better.
    pub const fn higher(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            unit,
            better: Direction::Higher,
            combine: Combine::Median,
            meaning,
            role: Role::Figure,
        }
    }

    /// One of which lower values are better.
    pub const fn lower(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { better: Direction::Lower, ..Self::higher(name, unit, meaning) }
    }

    /// One that describes, and is neither better nor worse.
    pub const fn neutral(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { better: Direction::Neither, ..Self::higher(name, unit, meaning) }
    }

    /// The same in another role.
    pub const fn with(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same, of which a point's value is made in another way than by the median over its rounds.
    pub const fn combined(self, combine: Combine) -> Self {
        Self { combine, ..self }
    }
}
