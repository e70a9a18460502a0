//! Plans a run, starts worker processes, interleaves rounds, collects their output, and concludes the run.
//!
//! [`plan()`] decides what is measured, [`check_directories`] whether it can be; [`begin`] or [`resume`] measures.
//! The module `run` describes the machine and has `coordinator` make the rounds. `launch` starts each in a fresh process,
//! the [`worker`]. `evidence` is what the rounds of one point have shown so far; `figures` computes results from it.

mod coordinator;
mod directories;
mod error;
mod event;
mod evidence;
mod figures;
mod id;
mod launch;
pub mod machine;
mod machine_changes;
mod noise;
mod plan;
mod recorded;
mod run;
mod stored_round;
mod timebase;
mod user;
pub mod worker;

pub use directories::check_directories;
pub use error::RunError;
pub use event::Event;
pub use id::{new_id, random_seed};
pub use machine_changes::also_differs;
pub use noise::{NOISE_TAG, stored_noise_checks};
pub use plan::{Options, Plan, PlanError, Point, choose, plan, plan_of};
pub use recorded::recorded;
pub use run::{Ended, Ending, Request, begin, resume};
pub use timebase::{best_clock, timebase_on};
pub use user::{commands, functions};
