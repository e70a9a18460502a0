//! Plans a run, starts worker processes, interleaves rounds, collects what they print.
//!
//! [`plan`](mod@plan) says what is measured, [`launch`] starts one round in a fresh process,
//! [`worker`] is that process, [`evidence`] is what the rounds of one point have shown so far, [`figures`] what follows from it, and
//! [`run`](mod@run) goes round and round until all is known well enough or time is up.

pub mod evidence;
pub mod figures;
pub mod launch;
pub mod plan;
pub mod run;
pub mod worker;

pub use plan::{Options, Plan, PlanError, Point, plan, plan_of};
pub use run::{Ending, Event, RunError, kind_of_cpu, now_rfc3339, resume, run};
