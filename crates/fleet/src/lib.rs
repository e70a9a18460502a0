//! One run of `oscost run` on each of many machines (nodes), and one outcome for each: its run in the coordinator's store, or
//! the reason why there is none.
//!
//! A [`Job`] is a directory of the coordinator: what is to be done, and a journal of what was begun, written before it is begun.
//! A [`Transport`] starts commands on nodes: [`Ssh`] or [`Slurm`]. On a node, the same program executes an [`Order`]
//! ([`serve`]): it locks the node, measures into a store of its own, and returns the document. An order may be repeated at any
//! time, since a run that is there is continued or returned, never made again; and a document is imported by its run's id. So a
//! kill of the coordinator, of a node or of the connection loses nothing, and each run arrives once.
//!
//! ```no_run
//! # fn example(keep: &mut dyn FnMut(&results::Document) -> Result<(), String>) -> Result<(), fleet::FleetError> {
//! let nodes = fleet::nodes_of(&["a".to_owned(), "b".to_owned()])?;
//! let request = fleet::Request {
//!     id: "20261127-203501-1a2b".to_owned(),
//!     transport: fleet::TransportKind::Ssh { command: vec!["ssh".to_owned()] },
//!     nodes,
//!     arguments: vec!["syscall".to_owned(), "--quick".to_owned()],
//!     binary: fleet::Binary::of(std::path::Path::new("oscost"))?,
//!     effort: fleet::Effort::default(),
//! };
//! let mut job = fleet::Job::create(std::path::Path::new("jobs"), request)?;
//! let stop = std::sync::atomic::AtomicBool::new(false);
//! for row in job.run(&stop, keep, &mut |_| {})? {
//!     println!("{}: {}", row.node, row.state.word());
//! }
//! # Ok(()) }
//! ```

mod attempt;
mod binary;
mod coordinate;
mod directory;
mod durable;
mod effort;
mod error;
mod exchange;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod job;
mod journal;
mod lock;
mod nodes;
mod order;
mod request;
mod serve;
mod stop;
mod transport;

pub use binary::Binary;
pub use directory::{directory_of_jobs, find_job};
pub use effort::Effort;
pub use error::FleetError;
pub use failure::Failure;
pub use job::Job;
pub use journal::{Row, State};
pub use nodes::{Node, nodes_of, parse_host_file};
pub use order::Order;
pub use request::{Request, TransportKind};
pub use serve::serve;
pub use transport::Transport;
pub use transport::slurm::{Slurm, SlurmSettings};
pub use transport::ssh::Ssh;
