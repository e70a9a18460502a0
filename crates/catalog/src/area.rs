use measure::{Metric, Params, TIME};
use results::CaseResult;

use crate::{Case, Extent};

/// A family of cases, with their rows and findings in the summary of a run.
pub struct Area {
    /// The name of the area and of its folder.
    pub name: &'static str,
    /// Its cases, in the order they are listed.
    pub cases: &'static [&'static Case],
    /// Whether a run of this extent measures a point, if no parameter was given explicitly.
    pub includes: fn(&Params, Extent) -> bool,
    /// Cases that a run measures only if it is a full one or a filter names them or the area: a run of everything leaves them
    /// out.
    pub extended: &'static [&'static str],
    /// Further cases that a quick run of everything leaves out.
    pub beyond_quick: &'static [&'static str],
    /// Whether its cases repeat operations of other areas under the same names: a name without an area then means the other
    /// one's case.
    pub repeats: bool,
    /// The command that asks for its cases, where a run does not measure them unasked.
    pub only_by: Option<&'static str>,
    /// Parameters whose values are an experiment of their own: points chosen by other parameters have the first value only.
    pub experiments: &'static [&'static str],
    /// The privileges, limits and settings that some of its cases need. A case without them is unsupported, with the reason.
    pub needs: &'static [Need],
    /// The costs that the summary shows.
    pub summary: &'static [SummaryRow],
    /// The conclusions that the summary may draw, the most important one first: the page has room for some.
    pub findings: &'static [Finding],
    /// The applications whose designs are judged when systems are compared.
    pub applications: &'static [Application],
    /// Its operations that Unix and Windows have under different names. No case of Windows occurs twice.
    pub counterparts: &'static [Counterpart],
    /// What follows from several of its points: laws fitted over a parameter, and the values of a parameter from which one
    /// alternative is better than another.
    pub derived: &'static [Derive],
}

/// Computes results of an area's cases, by derived metrics, from the results of a run; the number is the seed of the bootstrap. A
/// derived result lacks the parameters over which it was computed.
pub type Derive = fn(&[CaseResult], u64) -> Vec<CaseResult>;

/// Two points of one area that serve the same purpose, one on Unix and one on Windows, so that a comparison of systems can match
/// them. Parameters that are not named have equal values.
pub struct Counterpart {
    /// The point on Unix, under whose name both are shown.
    pub unix: Select,
    /// The point on Windows.
    pub windows: Select,
}

/// What a case needs besides the system on which it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The cases, by their names without the area; empty for all cases of the area.
    pub cases: &'static [&'static str],
    /// The privilege, limit or setting, as it is called in manual pages.
    pub what: &'static str,
}

/// One cost in the summary.
pub struct SummaryRow {
    /// The operation in a few words: `system call (getppid)`.
    pub label: &'static str,
    /// The point with this cost. A system that lacks it has no such row.
    pub point: Select,
    /// The metric that is the cost.
    pub metric: &'static Metric,
}

/// Selects a point of a run by its case and some of its parameters. If several points match, selects the first one in
/// the order of the plan.
#[derive(Debug, Clone, Copy)]
pub struct Select {
    /// `area/name`.
    pub case: &'static str,
    /// Parameters with their values.
    pub params: &'static [(&'static str, &'static str)],
}

/// A kind of application that can be designed in several ways, each of which has points.
pub struct Application {
    /// In a word or two: `server`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub says: &'static str,
    /// The metrics by which its designs are judged; all are costs, or rates.
    pub metrics: &'static [&'static Metric],
    /// The designs, the simplest first.
    pub designs: &'static [Design],
}

/// One design of an application.
///
/// Two designs, or one design on two systems, are compared at points with the same parameters, except those named by the
/// selections.
pub struct Design {
    /// In a few words: `a thread per connection`.
    pub name: &'static str,
    /// The points that it has, as lists of alternatives: of each list, the first that a system has. So an event loop is
    /// epoll on one system and I/O completion ports on another.
    pub points: &'static [&'static [Select]],
}

/// A conclusion from the figures of a run, as a sentence in which `{}` stands for the figure with its interval.
pub enum Finding {
    /// The ratio of a metric at two points.
    Ratio {
        /// The point in the numerator.
        of: Select,
        /// The point in the denominator. Parameters not named here have the values of the other point.
        to: Select,
        /// The metric of both.
        metric: &'static Metric,
        /// The sentence if the interval lies above 1.
        greater: &'static str,
        /// The sentence if the interval lies below 1; the figure is the inverse ratio.
        less: &'static str,
        /// The sentence if the interval contains 1 and is narrow; the figure is the interval.
        equal: &'static str,
    },
    /// The ratio of a metric at two points, at several values of a parameter.
    Levels {
        /// The points in the numerator.
        of: Select,
        /// The points in the denominator. Parameters not named here have the values of the other point.
        to: Select,
        /// The metric of all.
        metric: &'static Metric,
        /// The parameter and its values.
        levels: (&'static str, &'static [&'static str]),
        /// The sentence: the first `{}` stands for the ratios with their intervals, the second for the values at which they
        /// were measured.
        says: &'static str,
    },
    /// The value of a parameter from which on one metric is less than another one of the same points.
    Crossing {
        /// The points, by their other parameters.
        point: Select,
        /// The derived metric that is this value.
        metric: &'static Metric,
        /// The parameter.
        param: &'static str,
        /// The metric that becomes the lesser one.
        of: &'static Metric,
        /// The other one.
        to: &'static Metric,
        /// The sentence if there is such a value.
        says: &'static str,
        /// The sentence if `of` is less at all measured values, of which `{}` is the least.
        always: &'static str,
        /// The sentence if it is greater at all measured values, of which `{}` is the greatest.
        never: &'static str,
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
    /// An area that measures all combinations of its cases' parameters, without rows or findings in the summary. A case
    /// or a parameter without a definition does not compile.
    pub const fn new(name: &'static str, cases: &'static [&'static Case]) -> Self {
        fn all(_params: &Params, _extent: Extent) -> bool {
            true
        }
        let mut at = 0;
        while at < cases.len() {
            let case = cases[at];
            assert!(!case.operation.is_empty() && !case.comparable_to.is_empty(), "{}", case.name);
            let mut nth = 0;
            while nth < case.params.len() {
                assert!(!case.params[nth].meaning.is_empty(), "{}", case.params[nth].name);
                nth += 1;
            }
            at += 1;
        }
        Self {
            name,
            cases,
            includes: all,
            extended: &[],
            beyond_quick: &[],
            repeats: false,
            only_by: None,
            experiments: &[],
            needs: &[],
            summary: &[],
            findings: &[],
            applications: &[],
            counterparts: &[],
            derived: &[],
        }
    }
}

impl Counterpart {
    /// Two cases, at all their points.
    pub const fn cases(unix: &'static str, windows: &'static str) -> Self {
        Self { unix: Select::case(unix), windows: Select::case(windows) }
    }
}

impl SummaryRow {
    /// The row of this metric of the point.
    pub const fn new(label: &'static str, point: Select, metric: &'static Metric) -> Self {
        Self { label, point, metric }
    }

    /// The row of the time of the point's operation.
    pub const fn time(label: &'static str, point: Select) -> Self {
        Self { label, point, metric: &TIME }
    }
}

impl Select {
    /// Selects the first point of the case.
    pub const fn case(case: &'static str) -> Self {
        Self { case, params: &[] }
    }

    /// Selects the point of the case with these parameters.
    pub const fn point(
        case: &'static str,
        params: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { case, params }
    }

    /// Whether this selects the point.
    pub fn matches(&self, case: &str, params: &Params) -> bool {
        let has = |(key, value): &(&str, &str)| params.get(*key).is_some_and(|own| own == value);
        self.case == case && self.params.iter().all(has)
    }
}
