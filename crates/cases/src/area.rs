use measure::{Metric, Params};

use crate::{Case, Extent};

/// A family of cases, with what the summary of a run says of them.
pub struct Area {
    /// Its name, which is also its folder.
    pub name: &'static str,
    /// Its cases, in the order they are listed.
    pub cases: &'static [&'static Case],
    /// Which points a run of this extent measures, where no parameter was given explicitly.
    pub includes: fn(&Params, Extent) -> bool,
    /// Cases that a run measures only if it is a full one or a filter names them or the area: a run of everything leaves them
    /// out.
    pub extended: &'static [&'static str],
    /// Whether its cases repeat operations of other areas under the same names: a name without an area then means the other
    /// one's case.
    pub repeats: bool,
    /// The command that asks for its cases, where a run does not measure them unasked.
    pub only_by: Option<&'static str>,
    /// How its tables are laid out.
    pub layout: Layout,
    /// The costs that the summary shows.
    pub summary: &'static [SummaryRow],
    /// The sentences that the summary may say.
    pub findings: &'static [Finding],
}

/// How the tables of an area are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A row for each point: its cost, and its other metrics beside or below.
    Points,
    /// Executors side by side, for each list of jobs.
    Executors,
    /// The phases of files side by side, a row for each point.
    Phases,
    /// Architectures of servers below each other, numbers of connections side by side.
    Servers,
    /// The same for architectures of senders.
    Senders,
}

/// One cost in the summary.
pub struct SummaryRow {
    /// What is done, in a few words: `system call (getppid)`.
    pub label: &'static str,
    /// The point that has this cost. A system that lacks it has no such row.
    pub point: Select,
    /// The metric that is its cost.
    pub metric: &'static Metric,
}

/// A point of a run, by its case and some of its parameters. Where several points match, the first in the order of the plan
/// is meant.
#[derive(Debug, Clone, Copy)]
pub struct Select {
    /// `area/name`.
    pub case: &'static str,
    /// Parameters with their values.
    pub params: &'static [(&'static str, &'static str)],
}

/// A conclusion from the figures of a run, as a sentence. `{}` stands for the figure with its interval.
pub enum Finding {
    /// How many times as great a metric is at one point as at another.
    Ratio {
        /// The point in the numerator.
        of: Select,
        /// The point in the denominator. Its parameters that are not named are those of the other.
        to: Select,
        /// The metric of both.
        metric: &'static Metric,
        /// Said where the interval lies above 1.
        greater: &'static str,
        /// Said where the interval lies below 1; the figure is the inverse ratio.
        less: &'static str,
        /// Said where the interval contains 1 and is narrow enough for that to be a finding; the figure is the interval.
        equal: &'static str,
    },
    /// The value of one metric.
    Value {
        /// The point.
        point: Select,
        /// Its metric.
        metric: &'static Metric,
        /// The sentence.
        says: &'static str,
    },
}

impl Area {
    /// An area that measures all combinations of its cases' parameters, and of which the summary shows nothing.
    pub const fn new(name: &'static str, cases: &'static [&'static Case]) -> Self {
        fn all(_params: &Params, _extent: Extent) -> bool {
            true
        }
        Self {
            name,
            cases,
            includes: all,
            extended: &[],
            repeats: false,
            only_by: None,
            layout: Layout::Points,
            summary: &[],
            findings: &[],
        }
    }
}

impl Select {
    /// The case's first point.
    pub const fn case(case: &'static str) -> Self {
        Self { case, params: &[] }
    }

    /// The case's point with these parameters.
    pub const fn point(
        case: &'static str,
        params: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { case, params }
    }

    /// Whether it means this point.
    pub fn matches(&self, case: &str, params: &Params) -> bool {
        let has = |(key, value): &(&str, &str)| params.get(*key).is_some_and(|own| own == value);
        self.case == case && self.params.iter().all(has)
    }
}
