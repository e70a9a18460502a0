//! The tables of the area `concurrency`, with executors side by side.

mod candidates;
mod degree;
mod derived;
mod jobs;
pub(crate) mod shape;
mod side_by_side;
mod worth;

pub(crate) use self::jobs::title as jobs_title;
pub(crate) use degree::title as degree_title;
pub(crate) use worth::title as worth_title;

use crate::metrics::TURNAROUND;
use results::CaseResult;

use report::Page;
use report::rows::{Row, areas};
use shape::{ANSWER, DEGREE, JOBS, ORDER, SERIAL, WORTH};

/// Tables of `results`, which all have known shapes, and explanations of their columns.
pub(crate) fn tables(results: &[&CaseResult], page: &Page) -> String {
    let areas = areas(results.iter().copied());
    let rows: Vec<&Row> = areas.iter().flat_map(|area| &area.rows).collect();
    let [jobs, degree, worth, answer] =
        [JOBS, DEGREE, WORTH, ANSWER].map(|case| of_case(&rows, case));
    jobs::tables(&jobs, page)
        + &degree::tables(&degree, page)
        + &worth::tables(&worth, page)
        + &candidates::tables(&answer, page)
        + &legend(&rows, page)
}

/// The rows of `case`.
pub(crate) fn of_case<'a, 'r>(rows: &[&'a Row<'r>], case: &str) -> Vec<&'a Row<'r>> {
    let is_of_case = |row: &&&Row| row.results.iter().any(|result| result.case == case);
    rows.iter().filter(is_of_case).copied().collect()
}

/// Explanations of the columns, in at most four lines on a page of usual width.
fn legend(rows: &[&Row], page: &Page) -> String {
    let results = || rows.iter().flat_map(|row| &row.results);
    let Some(level) = results().find_map(|result| result.estimate).map(|e| e.level * 100.0) else {
        return String::new();
    };
    let has = |metric: &str| results().any(|r| r.metric == metric && r.estimate.is_some());
    let has_jobs = results().any(|result| result.case == JOBS);
    let base = if has_jobs { "; job k: k times base" } else { "" };
    let mut lines = vec![format!(
        "elapsed: until all jobs are complete, ± half its {level:.0} % interval{base}"
    )];
    if has(TURNAROUND.name) {
        lines.push(
            "turnaround: time until a job is complete / its length, mean over the jobs".to_owned(),
        );
    }
    let compared: Vec<&Row> = [of_case(rows, JOBS), of_case(rows, WORTH)].concat();
    let executors = ORDER.values(&compared, "executor");
    if executors.len() > 1 {
        let base = if executors[0] == SERIAL { SERIAL } else { "the first" };
        lines.push(format!("other executors: as multiples of {base}; ~: the intervals overlap"));
    }
    if has(TURNAROUND.name) {
        lines.push(
            "quartiles of turnaround, CPU use and switches: in --json, --csv and --xlsx".to_owned(),
        );
    }
    lines.iter().map(|line| page.faint(line)).collect()
}
