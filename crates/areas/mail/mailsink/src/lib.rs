//! An SMTP server that accepts mail and discards it, in one event loop, with injected faults and latencies.
//!
//! [`SinkOptions`] configures the sink, [`Sink::bind`] listens, and [`Sink::serve`] serves until [`Stop`] is requested.
//! `session` is the protocol without input or output, `client` a connection, `serve` the event loop.

mod client;
mod counts;
mod error;
mod extension;
mod fault;
mod greylist;
pub mod hosted;
pub mod identity;
mod latency;
mod listen;
mod offer;
mod options;
mod parse;
mod record;
mod serve;
mod session;
mod state;
mod stop;

pub use counts::Counts;
pub use error::BindError;
pub use extension::Extension;
pub use fault::{Fault, FaultKind, SinkPhase};
pub use latency::{Latency, Time};
pub use listen::Addresses;
pub use options::SinkOptions;
pub use parse::ParseOptionError;
pub use serve::{Counting, Sink};
pub use session::{OUTPUT_AT_ONCE, RECIPIENTS_AT_MOST};
pub use stop::Stop;
