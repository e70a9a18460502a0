//! What it costs and gains to carry out a list of jobs concurrently: as threads, tasks or processes
//! instead of one after the other.
//!
//! A case here is a list of jobs and an executor; its operation is the whole list, and each of its
//! rounds is one trial. How jobs are made is in [`job`] and [`list`], who does them in [`executor`].

mod answer;
mod degree;
pub mod executor;
pub mod job;
mod jobs;
pub mod list;
mod trial;
mod worth;

pub use answer::{LIST, candidates, list_of};

use crate::{Case, Trials};

/// All cases of this area.
pub const CASES: &[&Case] = &[&jobs::CASE, &degree::CASE, &worth::CASE, &answer::CASE];

/// How they are measured.
pub const TRIALS: &[(&Case, Trials)] = &[
    (&jobs::CASE, Trials { includes: jobs::includes, ..Trials::new(jobs::takes) }),
    (&degree::CASE, Trials::new(degree::takes)),
    (&worth::CASE, Trials { includes: worth::includes, ..Trials::new(worth::takes) }),
    (&answer::CASE, Trials { only_by: Some("oscost concurrency"), ..Trials::new(answer::takes) }),
];
