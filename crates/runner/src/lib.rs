//! Plans a run, starts worker processes, interleaves rounds, collects their output, and concludes the run.
//!
//! [`plan()`] chooses the points, [`check_directories`] checks their directories, and [`begin`] or [`resume`] measures. The
//! module `run` describes the machine and has `coordinator` make the rounds; [`begin_on`] does so for several systems in
//! turn. `launch` starts each round in a fresh process, the [`worker`]; in another system the [`agent`] does, with which
//! `link` exchanges the messages of `wire`. `run_state` is a run in progress, `evidence` the rounds of a point so far;
//! `figures` computes results from them. An area that makes its rounds by itself stores them by a [`Recording`].

pub mod agent;
mod agent_target;
mod coordinator;
mod directories;
mod error;
mod event;
mod evidence;
mod figures;
#[cfg(fuzzing)]
pub mod fuzzing;
mod host_evidence;
mod id;
mod kept_awake;
mod launch;
mod link;
pub mod machine;
mod machine_changes;
mod measuring_cpus;
mod memory_limit;
mod next_run;
mod on;
mod place;
mod plan;
mod questions;
mod recorded;
mod recording;
mod run;
mod run_clock;
mod run_state;
pub mod schedule;
mod stored_round;
mod timebase;
mod wire;
pub mod worker;

pub use directories::check_directories;
pub use error::RunError;
pub use event::Event;
pub use id::{new_id, random_seed};
pub use launch::output_of;
pub use link::{Started, Starts, Timeouts};
pub use next_run::earlier_runs;
pub use on::{OnRequest, begin_on};
pub use plan::{
    MeasuredSystem, On, Options, Plan, PlanError, Point, Selection, choose, plan, plan_of,
};
pub use questions::Questions;
pub use recorded::recorded;
pub use recording::Recording;
pub use run::{Ended, Ending, Request, begin, machine_differences, resume, to_resume};
pub use timebase::{best_clock, timebase_on};
