//! The points of an area by architecture and number of connections.

use measure::{Doubt, Metric, Role};
use results::{CaseResult, Estimate, Outcome};

use crate::first_seen;
use crate::footnotes::Reason;
use crate::rows::{COST, ending_words, is_described, measured, reason, reasons};

pub(crate) const ANSWER: &str = "net/answer";
pub(crate) const REQUESTS: &str = "net/requests";
pub(crate) const SLOW: &str = "net/slow";
const HOLD: &str = "net/hold";

/// Parameters of the cases, and of derived metrics.
const PARAMS: [&str; 4] = ["arch", "connections", "network", "place"];
const DERIVED_PARAMS: [&str; 4] = ["arch", "network", "place", "than"];

/// Further parameters, which some cases lack.
const FURTHER: [&str; 4] = ["cpus", "parent", "slow", "work"];

/// The default values of the parameters.
const USUAL: [(&str, &str); 9] = [
    ("network", "loopback"),
    ("place", "apart"),
    ("domains", "9113"),
    ("recipients", "200000"),
    ("cpus", "1"),
    ("parent", "0"),
    ("slow", ""),
    ("work", "none"),
    ("message", "none"),
];

/// The maximum lengths of names and numbers of known shape.
const LONGEST_NAME: usize = 16;
const LONGEST_NUMBER: usize = 6;

/// Points that differ only in architecture and connections.
pub(crate) struct Sweep<'r> {
    pub case: &'r str,
    /// Parameters other than architecture and connections.
    params: Vec<(&'r str, &'r str)>,
    /// Numbers of connections, ascending.
    pub levels: Vec<u32>,
    /// The supported architectures, in the order of the results.
    pub archs: Vec<Arch<'r>>,
    /// The unsupported architectures, by reason.
    pub missing: Vec<(String, Vec<&'r str>)>,
    pub derived: Vec<&'r CaseResult>,
}

/// One architecture: a point for each level of its sweep.
pub(crate) struct Arch<'r> {
    pub name: &'r str,
    pub points: Vec<Point<'r>>,
}

/// One architecture with one number of connections; without results if it was not in the run.
#[derive(Default, Clone)]
pub(crate) struct Point<'r> {
    results: Vec<&'r CaseResult>,
}

/// Whether `result` is derived from other results of its run.
pub(crate) fn is_derived(result: &CaseResult) -> bool {
    let metric = catalog::metric(&result.case, &result.metric);
    let is_swept = ["net/", "mail/"].iter().any(|area| result.case.starts_with(area));
    is_swept && metric.is_some_and(|metric| metric.role == Role::Derived)
}

/// Whether these tables can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    let params: &[&str] = match result.case.as_str() {
        ANSWER | REQUESTS if is_derived(result) => &DERIVED_PARAMS,
        ANSWER | REQUESTS | HOLD | SLOW => &PARAMS,
        _ => return false,
    };
    let is_usual = |(key, value): (&String, &String)| match key.as_str() {
        "connections" => number(value).is_some(),
        "work" => is_name(&value.replace(':', "-")),
        _ => is_name(value),
    };
    let known = result.params.keys().filter(|key| !FURTHER.contains(&key.as_str()));
    is_described(result) && known.eq(params) && result.params.iter().all(is_usual)
}

/// The value of a parameter, or the one that it has in results that lack it.
pub(crate) fn param<'r>(result: &'r CaseResult, key: &str) -> &'r str {
    let usual = USUAL.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value);
    result.params.get(key).map_or(usual, String::as_str)
}

pub(crate) fn is_name(text: &str) -> bool {
    let usual = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(usual)
}

pub(crate) fn number(text: &str) -> Option<u32> {
    let is_plain = text.len() <= LONGEST_NUMBER && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number: &u32| is_plain && *number > 0 && number.to_string() == text)
}

/// `results` of known shapes, by case and by parameters other than architecture and connections.
pub(crate) fn sweeps<'r>(results: &[&'r CaseResult]) -> Vec<Sweep<'r>> {
    type Named<'r> = (&'r str, Vec<(&'r str, &'r str)>);
    let named = |&result: &&'r CaseResult| {
        let keys = ["network", "place", "cpus", "parent", "slow", "work"];
        let params = keys.map(|key| (key, param(result, key))).to_vec();
        ((result.case.as_str(), params), result)
    };
    let mut groups = first_seen::grouped(results.iter().map(named));
    let place =
        |case: &str| [ANSWER, REQUESTS, HOLD].iter().position(|known| *known == case).unwrap_or(3);
    groups.sort_by_key(|((case, _), _)| place(case));
    let sweep = |((case, params), results): (Named<'r>, Vec<&'r CaseResult>)| {
        Sweep::of(case, params, &results)
    };
    groups.into_iter().map(sweep).collect()
}

impl<'r> Sweep<'r> {
    pub(crate) fn of(
        case: &'r str,
        params: Vec<(&'r str, &'r str)>,
        results: &[&'r CaseResult],
    ) -> Self {
        let (derived, points): (Vec<&CaseResult>, _) =
            results.iter().copied().partition(|r| is_derived(r));
        let named = |result: &'r CaseResult| {
            let level = number(&result.params["connections"]).unwrap_or(0);
            (result.params["arch"].as_str(), (level, result))
        };
        let of_arch = |(arch, results): (&'r str, Vec<(u32, &'r CaseResult)>)| {
            let levels = first_seen::grouped(results).into_iter();
            (arch, levels.map(|(level, results)| (level, Point { results })).collect::<Vec<_>>())
        };
        let (missing, existing): (Vec<_>, Vec<_>) =
            first_seen::grouped(points.into_iter().map(named)).into_iter().map(of_arch).partition(
                |(_, points)| points.iter().all(|(_, point)| point.unsupported().is_some()),
            );
        let mut levels: Vec<u32> =
            existing.iter().flat_map(|(_, points)| points).map(|(level, _)| *level).collect();
        levels.sort_unstable();
        levels.dedup();
        let arch = |(name, points): (&'r str, Vec<(u32, Point<'r>)>)| {
            let of =
                |level: &u32| points.iter().find(|(at, _)| at == level).map(|(_, p)| p.clone());
            Arch {
                name,
                points: levels.iter().map(|level| of(level).unwrap_or_default()).collect(),
            }
        };
        let archs = existing.into_iter().map(arch).collect();
        Self { case, params, levels, archs, missing: by_reason(missing), derived }
    }

    /// A title with the case, the content of the table and the parameters that differ from their defaults.
    pub(crate) fn title(&self, what: &str) -> String {
        let odd = self.params.iter().filter(|param| !USUAL.contains(param));
        let odd: Vec<String> = odd.map(|(key, value)| format!("{key}={value}")).collect();
        let odd = if odd.is_empty() { String::new() } else { format!(" ({})", odd.join(", ")) };
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        format!("{}{odd}{what}", self.case)
    }

    pub(crate) fn arch(&self, name: &str) -> Option<&Arch<'r>> {
        self.archs.iter().find(|arch| arch.name == name)
    }

    /// Whether a point of any shown architecture was not in the run.
    pub(crate) fn has_gaps(&self) -> bool {
        self.archs.iter().flat_map(|arch| &arch.points).any(Point::is_empty)
    }
}

/// The names of unsupported architectures by reason.
fn by_reason<'r>(missing: Vec<(&'r str, Vec<(u32, Point<'r>)>)>) -> Vec<(String, Vec<&'r str>)> {
    first_seen::grouped(missing.into_iter().map(|(arch, points)| {
        let why = points.first().and_then(|(_, point)| point.unsupported()).unwrap_or_default();
        (why.to_owned(), arch)
    }))
}

impl Arch<'_> {
    /// The doubts about its figures, each once, except failures under load, which are listed separately.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        first_seen::distinct(self.points.iter().flat_map(Point::reasons))
    }
}

impl<'r> Point<'r> {
    pub(crate) fn result(&self, metric: &Metric) -> Option<&'r CaseResult> {
        self.results.iter().copied().find(|result| result.metric == metric.name)
    }

    pub(crate) fn estimate(&self, metric: &Metric) -> Option<Estimate> {
        measured(self.result(metric)?)
    }

    /// The result of a metric that was measured.
    pub(crate) fn measured(&self, metric: &Metric) -> Option<&'r CaseResult> {
        self.result(metric).filter(|result| measured(result).is_some())
    }

    /// The values of a measured metric by round.
    pub(crate) fn round_values(&self, metric: &Metric) -> Option<&'r [f64]> {
        let result = self.result(metric).filter(|result| measured(result).is_some())?;
        (!result.round_values.is_empty()).then_some(&result.round_values)
    }

    /// Whether the point was not in the run.
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Whether the load generator or the receiver was the bottleneck.
    pub(crate) fn is_saturated(&self) -> bool {
        self.doubts().any(Doubt::is_saturated)
    }

    fn doubts(&self) -> impl Iterator<Item = &'r Doubt> {
        self.results.iter().flat_map(|result| &result.doubts)
    }

    /// Its outcome, if it has no cost.
    pub(crate) fn ending(&self) -> Option<&'r CaseResult> {
        let ended = |result: &&CaseResult| result.outcome != Outcome::Measured;
        let figure = self.results.iter().any(|result| measured(result).is_some());
        self.results.iter().copied().find(ended).filter(|result| result.metric == COST || !figure)
    }

    fn unsupported(&self) -> Option<&'r str> {
        let ending = self.ending().filter(|result| result.outcome == Outcome::Unsupported)?;
        Some(reason(ending))
    }

    /// Its failures under load.
    pub(crate) fn gave_way(&self) -> Vec<Reason> {
        let ending = self.ending().map(|ending| Reason::Missing(ending_words(ending)));
        let doubts = self.doubts().filter(|doubt| doubt.is_failure_under_load());
        first_seen::distinct(ending.into_iter().chain(doubts.cloned().map(Reason::Doubt)))
    }

    fn reasons(&self) -> Vec<Reason> {
        let ended = self.ending().is_some();
        let is_listed_elsewhere = |reason: &Reason| match reason {
            Reason::Doubt(doubt) => doubt.is_saturated() || doubt.is_failure_under_load(),
            Reason::Missing(_) => ended,
            Reason::Note(_) => false,
        };
        let all = self.results.iter().flat_map(|result| reasons(result));
        all.filter(|reason| !is_listed_elsewhere(reason)).collect()
    }
}
