//! Removes what outlives a killed process: temporary files and directories, message queues, semaphores.
//!
//! A process that is about to create such a thing first writes the thing's name to a record: a file among the temporary ones, which
//! it keeps locked. Names are random, and whoever creates a thing must fail if the name exists. Once the process has ended, however it
//! did, [`sweep`] or [`sweep_dead`] removes what the record names and what belongs to this user, and nothing else. A worker that gets
//! SIGTERM does so itself.

mod directory;
mod emptying;
mod record;

pub use directory::{Directory, LONGEST_NAME};
pub use record::{Recorded, has_things, random_name, sweep, sweep_dead};
#[cfg(target_os = "linux")]
pub(crate) use record::{end_group_on_termination, sweep_on_termination};
