//! Comparison of points with different names, such as those of oscost with those of another tool.

use results::{CaseResult, Document, PointKey};
use thiserror::Error;

use crate::table::Renaming;

/// Reason why points cannot be matched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MapError {
    /// The run lacks the point.
    #[error("run {run} has no point {point}; `oscost show {run}` lists them")]
    NoPoint {
        /// Id of the run.
        run: String,
        /// The point as the user wrote it.
        point: String,
    },
    /// Several points of the run are meant.
    #[error("run {run} has several points {point}: {} ...; name one", found.join(", "))]
    Several {
        /// Id of the run.
        run: String,
        /// The point as the user wrote it.
        point: String,
        /// The first of the points.
        found: Vec<String>,
    },
    /// Points of a pair have no metric in common.
    #[error("{old} and {new} have no metric in common: {old} has {of_old}, {new} has {of_new}")]
    NoMetric {
        /// Point of the base.
        old: String,
        /// Point of the other run.
        new: String,
        /// Metrics of the base's point.
        of_old: String,
        /// Metrics of the other point.
        of_new: String,
    },
    /// A point of the base is in two pairs.
    #[error("{0} is mapped twice")]
    Twice(String),
}

/// The base (the first of `runs`) and the other runs with only the points that the user has paired, each under the base's name,
/// and the metrics that both sides have.
///
/// A side of a pair is a point as `oscost show` prints it, `area/name{parameter=value}`, of which parameters may be omitted if
/// only one point is meant.
///
/// # Errors
/// [`MapError`] with the name that the user must change.
pub fn mapped(runs: &[Document], map: &[Renaming]) -> Result<Vec<Document>, MapError> {
    let Some((base, others)) = runs.split_first() else { return Ok(Vec::new()) };
    let mut chosen: Vec<Document> = runs.iter().map(without_results).collect();
    let mut known: Vec<PointKey> = Vec::new();
    for pair in map {
        let old = point(base, &pair.old)?;
        if known.contains(&old) {
            return Err(MapError::Twice(pair.old.clone()));
        }
        let of_old = results_of(base, &old);
        for (other, to) in others.iter().zip(1..) {
            let of_new = results_of(other, &point(other, &pair.new)?);
            let in_both = |new: &&&CaseResult| of_old.iter().any(|old| old.metric == new.metric);
            let common: Vec<&CaseResult> = of_new.iter().filter(in_both).copied().collect();
            if common.is_empty() {
                return Err(MapError::NoMetric {
                    old: pair.old.clone(),
                    new: pair.new.clone(),
                    of_old: metrics(&of_old),
                    of_new: metrics(&of_new),
                });
            }
            for result in common {
                let PointKey { case, params } = old.clone();
                chosen[to].results.push(CaseResult { case, params, ..result.clone() });
            }
        }
        let is_needed = |old: &&&CaseResult| {
            let same = |new: &CaseResult| new.metric == old.metric && new.point() == old.point();
            chosen[1..].iter().any(|run| run.results.iter().any(same))
        };
        let needed: Vec<CaseResult> =
            of_old.iter().filter(is_needed).map(|result| (*result).clone()).collect();
        chosen[0].results.extend(needed);
        known.push(old);
    }
    Ok(chosen)
}

fn without_results(run: &Document) -> Document {
    Document {
        schema: run.schema,
        run: run.run.clone(),
        machine: run.machine.clone(),
        results: Vec::new(),
    }
}

fn results_of<'r>(run: &'r Document, point: &PointKey) -> Vec<&'r CaseResult> {
    run.results.iter().filter(|r| r.case == point.case && r.params == point.params).collect()
}

fn metrics(results: &[&CaseResult]) -> String {
    results.iter().map(|result| result.metric.as_str()).collect::<Vec<_>>().join(", ")
}

/// The only point of the run that is meant by `name`.
fn point(run: &Document, name: &str) -> Result<PointKey, MapError> {
    /// Number of points that a message names.
    const NAMED: usize = 3;
    let mut points: Vec<PointKey> = Vec::new();
    for point in run.results.iter().map(CaseResult::point) {
        if point.to_string() == name {
            return Ok(point);
        }
        if is_meant(&point, name) && !points.contains(&point) {
            points.push(point);
        }
    }
    let (run, name) = (run.run.id.clone(), name.to_owned());
    match points.len() {
        0 => Err(MapError::NoPoint { run, point: name }),
        1 => Ok(points.remove(0)),
        _ => {
            let found = points.iter().take(NAMED).map(ToString::to_string).collect();
            Err(MapError::Several { run, point: name, found })
        }
    }
}

/// Whether the point has the case and all parameters of the name.
fn is_meant(point: &PointKey, name: &str) -> bool {
    let (case, params) = match name.split_once('{') {
        Some((case, rest)) => (case, rest.trim_end_matches('}')),
        None => (name, ""),
    };
    let has = |param: &str| {
        let pair = param.split_once('=');
        pair.is_some_and(|(key, value)| point.params.get(key).is_some_and(|own| own == value))
    };
    point.case == case && params.split(',').filter(|param| !param.is_empty()).all(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulated::{document, rounds_of};

    fn pairs(texts: &[&str]) -> Vec<Renaming> {
        texts.iter().map(|text| Renaming::parse(text).unwrap()).collect()
    }

    fn runs() -> [Document; 2] {
        let ours = vec![
            rounds_of(("switch/pipe", [("as", "threads"), ("place", "same")]), &[1.0]),
            rounds_of(("switch/pipe", [("as", "processes"), ("place", "same")]), &[2.0]),
            rounds_of("syscall/getppid", &[3.0]),
        ];
        let theirs = vec![
            rounds_of("perf-bench/sched-pipe", &[4.0]),
            rounds_of(("hyperfine/a-b", [("command", "a {x=1,y} b")]), &[5.0]),
        ];
        [document("ours", ours), document("theirs", theirs)]
    }

    fn message(map: &[&str]) -> String {
        mapped(&runs(), &pairs(map)).unwrap_err().to_string()
    }

    #[test]
    fn paired_points_are_compared_under_the_name_of_the_base() {
        let map = [
            "switch/pipe{as=processes}=perf-bench/sched-pipe",
            // The whole label, whatever the value of the parameter holds.
            "syscall/getppid=hyperfine/a-b{command=a {x=1,y} b}",
        ];
        let chosen = mapped(&runs(), &pairs(&map)).unwrap();
        let shown = |run: &Document| -> Vec<String> {
            let figure = |r: &CaseResult| r.estimate.unwrap().median;
            run.results.iter().map(|r| format!("{} {}", r.label(), figure(r))).collect()
        };
        let pipe = "switch/pipe{as=processes,place=same}";
        assert_eq!(shown(&chosen[0]), [format!("{pipe} 2"), "syscall/getppid 3".to_owned()]);
        assert_eq!(shown(&chosen[1]), [format!("{pipe} 4"), "syscall/getppid 5".to_owned()]);
    }

    #[test]
    fn a_name_that_means_no_point_or_several_is_an_error() {
        assert_eq!(
            message(&["switch/pipe=perf-bench/sched-pipe"]),
            "run ours has several points switch/pipe: switch/pipe{as=threads,place=same}, \
             switch/pipe{as=processes,place=same} ...; name one"
        );
        assert!(
            message(&["syscall/getppid=perf-bench/x"])
                .starts_with("run theirs has no point perf-bench/x;")
        );
        let twice = ["syscall/getppid=hyperfine/a-b", "syscall/getppid=perf-bench/sched-pipe"];
        assert_eq!(message(&twice), "syscall/getppid is mapped twice");
        let mut other = runs();
        other[1].results[0].metric = "rate".to_owned();
        let map = pairs(&["syscall/getppid=perf-bench/sched-pipe"]);
        assert_eq!(
            mapped(&other, &map).unwrap_err().to_string(),
            "syscall/getppid and perf-bench/sched-pipe have no metric in common: syscall/getppid has time, \
             perf-bench/sched-pipe has rate"
        );
    }
}
