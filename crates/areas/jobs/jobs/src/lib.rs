//! Costs and benefits of carrying out a list of jobs concurrently, by threads, tasks or processes, instead
//! of serially.
//!
//! A case is a list of jobs and an executor; its operation is the whole list, and each of its rounds is
//! one trial. [`job`], [`list`] and [`job_file`] define the jobs, and [`executor`] carries them out.

mod answer;
mod answer_of_run;
mod answer_text;
pub mod choice;
mod command;
mod crossover;
mod curves;
mod degree;
mod dependent;
mod designs;
pub mod executor;
mod foreground;
pub mod job;
pub mod job_file;
mod job_list;
mod job_lock;
mod jobs;
pub mod limits;
mod limits_text;
pub mod list;
pub mod metrics;
pub mod options;
mod scaling;
mod tables;
mod trial;
mod worth;

pub use answer_text::{answer_text, within_text};

pub use job_list::JobList;

use report::Layout;

use catalog::{Area, Case, Finding, Select};

/// The area.
pub static AREA: Area = Area {
    beyond_quick: &["concurrency/degree"],
    findings: &[
        Finding::Value {
            point: Select::point("concurrency/worth", &[("executor", "threads")]),
            metric: &metrics::SHORTEST_JOB,
            says: "A thread per job pays off for jobs longer than {}.",
        },
        Finding::Value {
            point: Select::point("concurrency/worth", &[("executor", "pool")]),
            metric: &metrics::SHORTEST_JOB,
            says: "A thread pool pays off for jobs longer than {}.",
        },
    ],
    applications: designs::APPLICATIONS,
    command: Some(command::COMMAND),
    derived: &[scaling::scaling_laws, crossover::crossovers],
    ..Area::new("concurrency", CASES)
};

/// The layout of the area's tables and charts.
pub const LAYOUT: Layout = Layout {
    is_known: tables::shape::is_known,
    tables: tables::tables,
    plots: curves::plots,
    conclusion: answer_of_run::answer,
    ..Layout::new(AREA.name)
};

/// Cases of the area.
const CASES: &[&Case] = &[&jobs::CASE, &degree::CASE, &worth::CASE, &answer::CASE];
