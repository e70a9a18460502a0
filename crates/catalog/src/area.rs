use measure::{CaseError, Metric, Params, TIME};
use results::CaseResult;

use crate::worker::Task;
use crate::{Case, Command, Extent};

/// A family of cases, with their rows and findings in the summary of a run.
pub struct Area {
    /// The name of the area and of its folder.
    pub name: &'static str,
    /// The cases of the area, in the order they are listed.
    pub cases: &'static [&'static Case],
    /// Whether a run of this extent measures the point when the user named no parameter.
    pub includes: fn(&Params, Extent) -> bool,
    /// Cases that a run of everything leaves out, unless it is a full run: it measures them only if a filter names them or the
    /// area.
    pub extended: &'static [&'static str],
    /// Further cases that a quick run of everything leaves out.
    pub beyond_quick: &'static [&'static str],
    /// Whether the area's cases repeat operations of other areas under the same names: a name without an area then means the
    /// other area's case.
    pub repeats: bool,
    /// The command that measures the area's cases, where `oscost run` measures them only if they are named.
    pub only_by: Option<&'static str>,
    /// Parameters whose values are a separate experiment: points chosen by other parameters have the first value only.
    pub experiments: &'static [&'static str],
    /// Privileges, limits and settings that some cases need. A case without them is unsupported, with the reason.
    pub needs: &'static [Need],
    /// Costs that the summary shows.
    pub summary: &'static [SummaryRow],
    /// Conclusions that the summary may draw, the most important one first: the summary shows only some of them.
    pub findings: &'static [Finding],
    /// The applications whose designs are judged when systems are compared.
    pub applications: &'static [Application],
    /// Its operations that Unix and Windows have under different names. No case of Windows occurs twice.
    pub counterparts: &'static [Counterpart],
    /// What follows from several of its points: laws fitted over a parameter, and the values of a parameter from which one
    /// alternative is better than another.
    pub derived: &'static [Derive],
    /// The command of the program that the area adds.
    pub command: Option<Command>,
    /// What its cases and its command have worker processes do, besides rounds.
    pub tasks: &'static [&'static Task],
    /// The reason why a point of the area cannot be measured here, such as a full disk, found before anything is written.
    pub obstacle: fn(case: &str, params: &Params) -> Option<CaseError>,
    /// A line for each limit of this machine that would affect the measurements of some points: for all of them, not for those of
    /// this area alone, because a limit may concern several areas.
    pub limits: fn(&[(&str, &Params)]) -> Vec<String>,
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
    /// Names of the cases without the area; empty for all cases of the area.
    pub cases: &'static [&'static str],
    /// The privilege, limit or setting, as manual pages call it.
    pub what: &'static str,
}

/// One cost in the summary.
pub struct SummaryRow {
    /// The operation in a few words: `system call (getppid)`.
    pub label: &'static str,
    /// The point with this cost. A system without the point has no such row.
    pub point: Select,
    /// The metric that is the cost.
    pub metric: &'static Metric,
}

/// Selects a point of a run by its case and some of its parameters. If several points match, selects the first one in
/// the order of the plan.
#[derive(Debug, Clone, Copy)]
pub struct Select {
    /// Name of the case: `area/name`.
    pub case: &'static str,
    /// Parameters and their values.
    pub params: &'static [(&'static str, &'static str)],
}

/// A kind of application with several designs, each of which has points. All do the same: what does something else, such as carry
/// many requests on a connection instead of one, is an application of its own.
pub struct Application {
    /// Name in a word or two: `server`.
    pub name: &'static str,
    /// What the application does, in one sentence.
    pub says: &'static str,
    /// Metrics by which the designs are judged; all are costs, or rates.
    pub metrics: &'static [&'static Metric],
    /// The designs, the simplest first.
    pub designs: &'static [Design],
    /// Situations for which the summary of a run says which design is fastest.
    pub situations: &'static [Situation],
}

impl Situation {
    /// The designs compared by the time of one operation.
    pub const fn by_time(
        name: &'static str,
        params: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { name, params, level: None, metric: &TIME, than: "as fast as" }
    }

    /// The situation with this parameter as its level.
    pub const fn at_level(self, param: &'static str) -> Self {
        Self { level: Some(param), ..self }
    }
}

/// Conditions under which the designs of an application are compared within a run.
pub struct Situation {
    /// The application with the conditions, in a few words, `{}` standing for the level: `server, {} connections at a time`.
    pub name: &'static str,
    /// Parameters of the compared points, besides those that the designs name, and their values.
    pub params: &'static [(&'static str, &'static str)],
    /// The parameter with numbers of which the greatest is taken if a run has not measured that of `params`.
    pub level: Option<&'static str>,
    /// The cost by which the designs are compared.
    pub metric: &'static Metric,
    /// What follows the factor between a slower design and the best one: `7.3 times as fast as`.
    pub than: &'static str,
}

/// One design of an application.
///
/// Two designs, or one design on two systems, are compared at points with the same parameters, except those named by the
/// selections.
pub struct Design {
    /// Name in a few words: `a thread per connection`.
    pub name: &'static str,
    /// The points of the design: those of the first selection that a system has. So an event loop is epoll on one system and I/O
    /// completion ports on another.
    pub points: &'static [Select],
}

/// A conclusion from the figures of a run, as a sentence in which `{}` stands for the figure with its interval.
pub enum Finding {
    /// The ratio of a metric at two points.
    Ratio {
        /// The point in the numerator.
        of: Select,
        /// The point in the denominator. Parameters not named here have the values of the other point.
        to: Select,
        /// The metric at both points.
        metric: &'static Metric,
        /// The sentence if the interval lies above 1.
        greater: &'static str,
        /// The sentence if the interval lies below 1; the figure is the inverse ratio.
        less: &'static str,
        /// The sentence if the interval contains 1 and is narrow; the figure is the interval.
        equal: &'static str,
    },
    /// The value of a parameter from which on one metric of a point is less than another metric of that point.
    Crossing {
        /// The points, selected by their other parameters.
        point: Select,
        /// The derived metric whose value is the crossing.
        metric: &'static Metric,
        /// The parameter.
        param: &'static str,
        /// The metric that becomes the lesser one.
        of: &'static Metric,
        /// The metric that it is compared with.
        to: &'static Metric,
        /// The sentence if there is such a value.
        says: &'static str,
        /// The sentence if `of` is less at all measured values, of which `{}` is the least.
        always: &'static str,
        /// The sentence if `of` is greater at all measured values, of which `{}` is the greatest.
        never: &'static str,
    },
    /// The value of one metric.
    Value {
        /// The point.
        point: Select,
        /// The metric of the point.
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
            command: None,
            tasks: &[],
            obstacle: |_, _| None,
            limits: |_| Vec::new(),
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
    /// A row that shows the metric at the point.
    pub const fn new(label: &'static str, point: Select, metric: &'static Metric) -> Self {
        Self { label, point, metric }
    }

    /// A row that shows the time of the point's operation.
    pub const fn time(label: &'static str, point: Select) -> Self {
        Self { label, point, metric: &TIME }
    }
}

impl Counterpart {
    /// The parameters that a point on Windows has on Unix.
    pub fn on_unix(&self, mut params: Params) -> Params {
        params.retain(|key, _| !self.windows.params.iter().any(|(name, _)| name == key));
        let named = self.unix.params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        params.extend(named);
        params
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

    /// Whether a point has the values of `other` for all parameters that both have, except those that the selection names.
    pub fn is_beside(&self, params: &Params, other: &Params) -> bool {
        let is_named = |key: &str| self.params.iter().any(|(name, _)| *name == key);
        params.iter().all(|(key, value)| {
            is_named(key) || other.get(key).is_none_or(|of_other| of_other == value)
        })
    }
}
