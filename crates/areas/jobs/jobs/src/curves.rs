//! The contents of the charts of the area `concurrency`.

use crate::metrics::{RATE, TURNAROUND};
use results::{CaseResult, Estimate};

use super::tables;
use super::tables::shape::{
    DEGREE, Group, JOBS, ORDER, SERIAL, WORTH, cpus_words, grouped, is_derived, is_known,
    length_ns, length_words, number, param,
};
use report::results_table::known_and_odd;
use report::rows::{COST, Row, areas, measured};
use report::{Curve, CurvePoint, Plot};

/// All charts for `results`.
pub(super) fn plots(results: &[CaseResult]) -> Vec<Plot> {
    let (known, _) = known_and_odd(results.iter().collect(), is_known);
    let areas = areas(known);
    let cases = areas
        .iter()
        .flat_map(|area| &area.rows)
        .filter(|row| row.results.iter().any(|result| !is_derived(result)));
    let cases: Vec<&Row> = cases.collect();
    let of_case = |case: &str| tables::of_case(&cases, case);
    let of_jobs = grouped(of_case(JOBS), &["executor", "jobs"]);
    let mut plots: Vec<Plot> = of_jobs.iter().flat_map(jobs_plots).collect();
    plots.extend(degree_plot(&of_case(DEGREE)));
    plots.extend(grouped(of_case(WORTH), &["executor", "length"]).iter().filter_map(worth_plot));
    plots.retain(|plot| plot.lines.iter().any(|line| line.points.iter().any(Option::is_some)));
    plots
}

/// Elapsed time and turnaround by number of jobs, one line per executor.
fn jobs_plots(group: &Group) -> Vec<Plot> {
    let of = |key| group.param(key);
    let base = length_words(of("base"));
    let of_what = tables::jobs_title(group, "");
    let jobs = ORDER.values(&group.rows, "jobs");
    let lines = |metric: &str, unit: f64| -> Vec<Curve> {
        let line = |executor: &str| {
            let point = |jobs: &&str| {
                let keys = [("executor", executor), ("jobs", *jobs)];
                Some(CurvePoint::of(&estimate(&group.rows, &keys, metric)?, unit))
            };
            of_executor(executor, jobs.iter().map(point).collect())
        };
        ORDER.values(&group.rows, "executor").into_iter().map(line).collect()
    };
    let (unit_name, unit) = time_unit(&lines(COST, 1.0));
    let plot = |what: &str, y_title: String, lines: Vec<Curve>| Plot {
        sheet: format!("{} {}", of("kind"), cpus_words(of("cpus"))),
        title: format!("{what}, base {base}: {of_what}"),
        x_title: "jobs".to_owned(),
        y_title,
        x: jobs.iter().filter_map(|jobs| number(jobs)).map(f64::from).collect(),
        lines,
        logarithmic: false,
    };
    let turnaround = "mean turnaround (x)".to_owned();
    vec![
        plot("Elapsed", format!("elapsed ({unit_name})"), lines(COST, unit)),
        plot("Mean turnaround", turnaround, lines(TURNAROUND.name, 1.0)),
    ]
}

/// The rate by degree, one line per kind of jobs.
fn degree_plot(rows: &[&Row]) -> Option<Plot> {
    let degrees = ORDER.values(rows, "degree");
    let line = |(look, group): (usize, &Group)| {
        let point = |degree: &&str| {
            Some(CurvePoint::of(&estimate(&group.rows, &[("degree", degree)], RATE.name)?, 1.0))
        };
        let points = degrees.iter().map(point).collect();
        Curve { name: tables::degree_title(group), look, points }
    };
    let groups = grouped(rows.iter().copied(), &["degree"]);
    let lines: Vec<Curve> = groups.iter().enumerate().map(line).collect();
    (!lines.is_empty()).then(|| Plot {
        sheet: "degree".to_owned(),
        title: "Jobs per second, by degree of concurrency".to_owned(),
        x_title: "jobs at once".to_owned(),
        y_title: "jobs/s".to_owned(),
        x: degrees.iter().filter_map(|degree| number(degree)).map(f64::from).collect(),
        lines,
        logarithmic: false,
    })
}

/// Time relative to the serial executor by length of a job; `None` without that executor.
fn worth_plot(group: &Group) -> Option<Plot> {
    let mut lengths = ORDER.values(&group.rows, "length");
    lengths.sort_by(|a, b| ORDER.by_value(a, b));
    let figure = |executor: &str, length: &str| {
        estimate(&group.rows, &[("executor", executor), ("length", length)], COST)
    };
    let line = |executor: &str| {
        let point = |length: &&str| {
            let serial = figure(SERIAL, length).filter(|serial| serial.median > 0.0)?;
            Some(CurvePoint::of(&figure(executor, length)?, serial.median))
        };
        of_executor(executor, lengths.iter().map(point).collect())
    };
    let executors = ORDER.values(&group.rows, "executor");
    let (serial, others): (Vec<&str>, Vec<&str>) =
        executors.into_iter().partition(|executor| *executor == SERIAL);
    (!serial.is_empty() && !others.is_empty()).then(|| Plot {
        sheet: "worth".to_owned(),
        title: format!("Time relative to serial execution: {}", tables::worth_title(group)),
        x_title: "length of a job (us)".to_owned(),
        y_title: "time / serial's time".to_owned(),
        x: lengths.iter().filter_map(|length| length_ns(length)).map(|ns| ns / 1e3).collect(),
        lines: others.into_iter().map(line).collect(),
        logarithmic: true,
    })
}

fn of_executor(executor: &str, points: Vec<Option<CurvePoint>>) -> Curve {
    Curve { name: executor.to_owned(), look: ORDER.place(executor), points }
}

/// The estimate of `metric` for the row with these parameters.
fn estimate(rows: &[&Row], keys: &[(&str, &str)], metric: &str) -> Option<Estimate> {
    let row = rows.iter().find(|row| keys.iter().all(|(key, value)| param(row, key) == *value))?;
    measured(row.results.iter().find(|result| result.metric == metric)?)
}

/// The unit for all times of a chart, and its length in ns.
fn time_unit(lines: &[Curve]) -> (&'static str, f64) {
    let points = lines.iter().flat_map(|line| &line.points).flatten();
    let most = points.map(|point| point.mid).fold(0.0, f64::max);
    match most {
        ns if ns >= 2e9 => ("s", 1e9),
        ns if ns >= 2e6 => ("ms", 1e6),
        _ => ("us", 1e3),
    }
}
