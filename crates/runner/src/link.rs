//! The connection with an agent: sends orders, and reads frames within time limits, which only the coordinator's clock
//! measures.

mod exchange;
mod host;
mod reader;
mod started;
mod system;

pub use host::{Started, Starts, Timeouts};
pub(crate) use system::{Introduction, RoundOf, SystemLink};
