//! What a run measures: which points, how precisely, for how long.

use std::collections::BTreeMap;
use std::time::Duration;

use cases::{Case, Param};
use measure::Params;
use serde::{Deserialize, Serialize};

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Parts of case names (`clock`, `syscall/getppid`, `lock/sysv*`); none means all.
    pub filters: Vec<String>,
    /// Values given for parameters by hand: `workers` to `["1", "8"]`.
    pub params: BTreeMap<String, Vec<String>>,
    /// All values of all parameters.
    pub full: bool,
    /// Fewer rounds, less time.
    pub quick: bool,
    /// Half-width of the interval at which a point is done, as a share.
    pub precision: Option<f64>,
    /// Longest time for the whole run.
    pub budget: Option<Duration>,
    /// Seed of the order of rounds.
    pub seed: Option<u64>,
    /// The CPU to measure on.
    pub cpu: Option<usize>,
    /// Extra work on the clock, as a share: a self-check.
    pub handicap: Option<f64>,
}

/// One case with a value for each of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// `area/name`.
    pub case: String,
    /// Its parameters.
    pub params: Params,
}

/// All that a run will do; kept with it, so that it can be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured.
    pub points: Vec<Point>,
    /// Half-width of the interval at which a point is done, as a share.
    pub precision: f64,
    /// Longest time for the whole run, in ms.
    pub budget_ms: u64,
    /// Rounds a point gets at least.
    pub rounds_at_least: usize,
    /// A point's rounds are spread over this time at least, in ms: machines have moods.
    pub spread_ms: u64,
    /// Seed of the order of rounds and of the bootstrap.
    pub seed: u64,
    /// The CPUs in use; single measurements are made on the last.
    pub cpus: Vec<usize>,
    /// Extra work on the clock, as a share.
    pub handicap: f64,
    /// The process that carries it out: a run is not resumed while that one lives.
    pub coordinator: u32,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A filter that fits no case.
    #[error("no case matches {filter:?}{hint}; `oscost list` shows all cases")]
    UnknownCase {
        /// What was asked for.
        filter: String,
        /// A near name, if there is one.
        hint: String,
    },
    /// A parameter that none of the chosen cases has.
    #[error("none of the chosen cases has a parameter {name:?}; {known}")]
    UnknownParam {
        /// Its name.
        name: String,
        /// Those they have.
        known: String,
    },
    /// A value the parameter cannot take.
    #[error("{name} cannot be {value:?}: {problem}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A CPU we may not use.
    #[error("CPU {cpu} is not one this process may use ({allowed})")]
    NoSuchCpu {
        /// The CPU asked for.
        cpu: usize,
        /// Those that may be used.
        allowed: String,
    },
}

/// Plans what `options` ask for on this machine.
pub fn plan(options: &Options, cpus: &[usize], seed: u64) -> Result<Plan, PlanError> {
    let cpus = with_measuring_cpu_last(cpus, options.cpu)?;
    let cases = choose(&options.filters)?;
    for name in options.params.keys() {
        if !cases.iter().any(|case| case.params.iter().any(|param| param.name == name)) {
            return Err(PlanError::UnknownParam { name: name.clone(), known: params_of(&cases) });
        }
    }
    let mut points = Vec::new();
    for case in cases {
        points.extend(points_of(case, options, cpus.len())?);
    }
    let count = points.len() as u64;
    let budget_ms = match options.budget {
        Some(budget) => budget.as_millis() as u64,
        None if options.quick => (count * 500).clamp(5_000, 36_000),
        None if options.full => (count * 2_000).max(12_000),
        None => (count * 4_000).clamp(12_000, 200_000),
    };
    Ok(Plan {
        points,
        precision: options.precision.unwrap_or(0.005),
        budget_ms,
        rounds_at_least: if options.quick { 6 } else { 8 },
        spread_ms: if options.quick { 1_000 } else { 4_000 },
        seed: options.seed.unwrap_or(seed),
        cpus,
        handicap: options.handicap.unwrap_or(0.0),
        coordinator: std::process::id(),
    })
}

fn with_measuring_cpu_last(cpus: &[usize], wanted: Option<usize>) -> Result<Vec<usize>, PlanError> {
    let Some(cpu) = wanted else { return Ok(cpus.to_vec()) };
    if !cpus.contains(&cpu) {
        let allowed = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        return Err(PlanError::NoSuchCpu { cpu, allowed });
    }
    let mut ordered: Vec<usize> = cpus.iter().copied().filter(|&other| other != cpu).collect();
    ordered.push(cpu);
    Ok(ordered)
}

/// The cases that the filters name, in the order of the list; all if there are no filters.
pub fn choose(filters: &[String]) -> Result<Vec<&'static Case>, PlanError> {
    let all = cases::all();
    for filter in filters {
        if !all.iter().any(|case| matches(filter, &case.label())) {
            let hint = nearest(filter, &all).map(|name| format!(" (did you mean {name}?)"));
            return Err(PlanError::UnknownCase {
                filter: filter.clone(),
                hint: hint.unwrap_or_default(),
            });
        }
    }
    let wanted = |label: &str| filters.is_empty() || filters.iter().any(|f| matches(f, label));
    Ok(all.into_iter().filter(|case| wanted(&case.label())).collect())
}

/// An area, a whole name, or a pattern with `*`; a name without its area does too.
fn matches(filter: &str, label: &str) -> bool {
    let (area, name) = label.split_once('/').unwrap_or(("", label));
    if filter.contains('*') {
        return glob(filter, label) || glob(filter, name);
    }
    filter == label || filter == area || filter == name
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|left| {
            (0..=left.len())
                .filter(|&at| left.is_char_boundary(at))
                .any(|at| glob(rest, &left[at..]))
        }),
    }
}

/// A case whose name contains the filter, or the case or area that is spelt most like it.
fn nearest(filter: &str, all: &[&'static Case]) -> Option<String> {
    /// Less alike than this, it is something else that was meant.
    const ALIKE: f64 = 0.8;
    let labels: Vec<String> = all.iter().map(|case| case.label()).collect();
    let name = filter.rsplit('/').next().unwrap_or(filter);
    if let Some(label) = labels.iter().find(|label| name.len() >= 2 && label.contains(name)) {
        return Some(label.clone());
    }
    let spelt = labels.iter().flat_map(|label| {
        let (area, name) = label.split_once('/').unwrap_or(("", label));
        [(label.as_str(), label.as_str()), (name, label.as_str()), (area, area)]
    });
    let ranked = spelt.map(|(text, meant)| (strsim::jaro_winkler(filter, text), meant));
    let best = ranked.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, meant)| meant.to_owned())
}

/// The parameters these cases have, as a hint.
fn params_of(cases: &[&'static Case]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for param in cases.iter().flat_map(|case| case.params) {
        if !names.contains(&param.name) {
            names.push(param.name);
        }
    }
    match &names[..] {
        [] => "they have none".to_owned(),
        names => format!("they have {}", names.join(", ")),
    }
}

/// Every combination of the parameters' values.
fn points_of(case: &Case, options: &Options, cpus: usize) -> Result<Vec<Point>, PlanError> {
    let mut all = vec![Params::new()];
    for param in case.params {
        let values = values_of(param, options, cpus)?;
        all = all
            .into_iter()
            .flat_map(|params| {
                values.iter().map(move |value| {
                    let mut params = params.clone();
                    params.insert(param.name.to_owned(), value.clone());
                    params
                })
            })
            .collect();
    }
    Ok(all.into_iter().map(|params| Point { case: case.label(), params }).collect())
}

fn values_of(param: &Param, options: &Options, cpus: usize) -> Result<Vec<String>, PlanError> {
    let mut values: Vec<String> = match options.params.get(param.name) {
        Some(given) => {
            given.iter().map(|value| checked(param, value, cpus)).collect::<Result<_, _>>()?
        }
        None => {
            let listed = if options.full { param.full } else { param.default };
            listed.iter().map(|value| on_this_machine(value, cpus)).collect()
        }
    };
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    Ok(values)
}

/// A listed value made definite: `2xcpus` becomes a number, and where there is one CPU nothing can
/// be spread.
fn on_this_machine(value: &str, cpus: usize) -> String {
    match value {
        "2xcpus" => (2 * cpus).min(measure::crew::WORKERS_AT_MOST).to_string(),
        "spread" if cpus == 1 => "same".to_owned(),
        _ => value.to_owned(),
    }
}

/// A value given by hand, as it is kept. A parameter with numbers takes any count from 1, which is
/// kept in plain digits; one with words takes only those.
fn checked(param: &Param, value: &str, cpus: usize) -> Result<String, PlanError> {
    let bad = |problem: String| PlanError::BadValue {
        name: param.name.to_owned(),
        value: value.to_owned(),
        problem,
    };
    let numeric = param.full.iter().all(|v| v.parse::<u64>().is_ok());
    if !numeric {
        return match value {
            _ if !param.full.contains(&value) => {
                Err(bad(format!("choose among {}", param.full.join(", "))))
            }
            "spread" if cpus == 1 => Err(bad("this process may use only one CPU".into())),
            _ => Ok(value.to_owned()),
        };
    }
    match measure::count::parse_count(value) {
        Err(error) => Err(bad(format!("it {}", error.problem()))),
        Ok(0) => Err(bad("it must be at least 1".into())),
        Ok(count) if param.name == "workers" && count > measure::crew::WORKERS_AT_MOST as u64 => {
            Err(bad(format!("at most {}", measure::crew::WORKERS_AT_MOST)))
        }
        Ok(count) if count > 1 << 20 => Err(bad("at most 1m".into())),
        Ok(count) => Ok(count.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(filters: &[&str]) -> Vec<String> {
        let filters: Vec<String> = filters.iter().map(|f| (*f).to_owned()).collect();
        choose(&filters).unwrap().iter().map(|case| case.label()).collect()
    }

    #[test]
    fn filters_name_areas_cases_and_patterns() {
        assert_eq!(labels(&["syscall/getppid"]), ["syscall/getppid"]);
        assert_eq!(labels(&["getppid"]), ["syscall/getppid"]);
        assert_eq!(labels(&["lock/sysv*"]), ["lock/sysv-sem", "lock/sysv-sem-no-undo"]);
        assert!(labels(&["lock"]).iter().all(|label| label.starts_with("lock/")));
        assert_eq!(labels(&[]).len(), cases::all().len());
    }

    #[test]
    fn an_unknown_case_is_named_with_a_hint() {
        let error = choose(&["lock/sysv".into()]).err().unwrap().to_string();
        assert!(error.contains("lock/sysv") && error.contains("did you mean lock/sysv-sem?"));
        for (typed, meant) in [
            ("lock/futx", Some("lock/futex")),
            ("getpid", Some("syscall/getppid")),
            ("sycall", Some("syscall")),
            ("%%", None),
            ("é", None),
        ] {
            let error = choose(&[typed.into()]).err().unwrap().to_string();
            let hint = meant.map(|name| format!("(did you mean {name}?)")).unwrap_or_default();
            assert!(error.contains(&hint), "{error}");
            assert_eq!(error.contains("did you mean"), meant.is_some(), "{error}");
        }
    }

    #[test]
    fn parameters_multiply_and_are_made_definite() {
        let options = Options { filters: vec!["lock/sysv-sem".into()], ..Options::default() };
        let plan = plan(&options, &[0, 1], 7).unwrap();
        // 1, 2 and 4 workers, as threads and as processes.
        assert_eq!(plan.points.len(), 6);
        assert!(plan.points.iter().any(|point| point.params["workers"] == "4"));
        assert!(plan.points.iter().all(|point| point.params["place"] == "spread"));
    }

    #[test]
    fn one_cpu_is_no_obstacle() {
        let options = Options { filters: vec!["lock/sysv-sem".into()], ..Options::default() };
        let plan = plan(&options, &[3], 7).unwrap();
        assert_eq!(plan.points.len(), 4, "twice the CPUs is two, measured once");
        assert!(plan.points.iter().all(|point| point.params["place"] == "same"));
    }

    #[test]
    fn wrong_values_are_refused() {
        let with = |name: &str, value: &str| {
            let options = Options {
                filters: vec!["lock/sysv-sem".into()],
                params: BTreeMap::from([(name.to_owned(), vec![value.to_owned()])]),
                ..Options::default()
            };
            plan(&options, &[0, 1], 7).map(|plan| plan.points.len())
        };
        assert_eq!(with("workers", "7"), Ok(2));
        for (name, value) in [
            ("workers", "0"),
            ("workers", "-1"),
            ("workers", "65"),
            ("workers", "x"),
            ("as", "x"),
            ("colour", "x"),
        ] {
            assert!(with(name, value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn values_that_mean_the_same_are_one_point() {
        let given = ["1k", "1024", "01024"].map(str::to_owned).to_vec();
        let options = Options {
            filters: vec!["syscall/poll".into()],
            params: BTreeMap::from([("fds".to_owned(), given)]),
            ..Options::default()
        };
        let plan = plan(&options, &[0], 7).unwrap();
        let values: Vec<&str> = plan.points.iter().map(|p| p.params["fds"].as_str()).collect();
        assert_eq!(values, ["1024"]);
    }

    #[test]
    fn nothing_is_spread_over_one_cpu() {
        let options = Options {
            filters: vec!["lock/futex".into()],
            params: BTreeMap::from([("place".to_owned(), vec!["spread".to_owned()])]),
            ..Options::default()
        };
        let error = plan(&options, &[0], 7).unwrap_err().to_string();
        assert_eq!(error, "place cannot be \"spread\": this process may use only one CPU");
        assert!(plan(&options, &[0, 1], 7).is_ok());
    }

    #[test]
    fn the_cpu_to_measure_on_comes_last() {
        let options = Options { cpu: Some(0), ..Options::default() };
        assert_eq!(plan(&options, &[0, 1], 7).unwrap().cpus, [1, 0]);
        let options = Options { cpu: Some(9), ..Options::default() };
        assert!(matches!(plan(&options, &[0, 1], 7), Err(PlanError::NoSuchCpu { .. })));
    }
}
