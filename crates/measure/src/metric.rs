//! Metrics: the figures that cases report, with their names, units and directions.

use crate::record::{Combine, Direction};

/// The definition of a metric. Each area lists its own; results include the name, the unit and the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name, unique within the case.
    pub name: &'static str,
    /// Unit of the values, as in results: `ns`, `replies/s`, `share`.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Direction,
    /// How the values of several rounds are combined.
    pub combine: Combine,
    /// Meaning, as shown in the definition of the case.
    pub meaning: &'static str,
    /// Role in the comparison of two runs.
    pub role: Role,
}

/// How a metric with a direction is compared between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Compared, unless something other than the measured program limited it.
    Figure,
    /// Compared also if the load generator or the receiver was the bottleneck: it is the measured program's own cost of an
    /// operation.
    OwnCost,
    /// Compared also if connections failed: it is their share.
    Failures,
    /// Not compared if the point also has the metric of this name, whose reciprocal or fixed multiple it is.
    SameAs(&'static str),
    /// Not compared: it is computed from several points of a run, which are compared.
    Derived,
    /// The CPU time of a trial divided by its elapsed time: the share of the CPUs that a figure of the same trial had.
    CpuShare,
}

/// Defines metrics, each by its name, unit, and meaning, which is also its documentation: `REPLY_WORST =
/// lower("reply-worst", "ns"), "the longest time of any reply";`. Further calls may follow the unit, such as
/// `.with(Role::OwnCost)`. With `pub const LIST: [ … ]` around the metrics, the macro also defines the list of all of them.
#[macro_export]
macro_rules! metrics {
    ($(#[$attribute:meta])* $visibility:vis const $LIST:ident: [$(
        $METRIC:ident = $better:ident($name:expr, $unit:expr)$(.$with:ident($what:expr))*, $meaning:expr;
    )*]) => {
        $crate::metrics! {
            $($METRIC = $better($name, $unit)$(.$with($what))*, $meaning;)*
        }
        $(#[$attribute])*
        $visibility const $LIST: &[$crate::Metric] = &[$($METRIC),*];
    };
    ($(
        $METRIC:ident = $better:ident($name:expr, $unit:expr)$(.$with:ident($what:expr))*, $meaning:expr;
    )*) => {$(
        #[doc = $meaning]
        pub const $METRIC: $crate::Metric =
            $crate::Metric::$better($name, $unit, $meaning)$(.$with($what))*;
    )*};
}

/// The concatenation of several lists of metrics. Compilation fails unless there are `N`.
pub const fn joined<const N: usize>(lists: &[&[Metric]]) -> [Metric; N] {
    let mut all = [TIME; N];
    let (mut filled, mut list) = (0, 0);
    while list < lists.len() {
        let mut nth = 0;
        while nth < lists[list].len() {
            all[filled] = lists[list][nth];
            (filled, nth) = (filled + 1, nth + 1);
        }
        list += 1;
    }
    assert!(filled == N, "N is wrong");
    all
}

/// The time of one operation, which every case has.
pub const TIME: Metric = Metric::lower("time", "ns/op", "the time of one operation");

impl Metric {
    /// A metric whose higher values are better.
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

    /// A metric whose lower values are better.
    pub const fn lower(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { better: Direction::Lower, ..Self::higher(name, unit, meaning) }
    }

    /// A metric without a better direction.
    pub const fn neutral(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { better: Direction::Neither, ..Self::higher(name, unit, meaning) }
    }

    /// Sets the role.
    pub const fn with(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Sets how the values of several rounds are combined, instead of by the median.
    pub const fn combined(self, combine: Combine) -> Self {
        Self { combine, ..self }
    }
}
