//! The load generator: a closed loop of connections or an open loop of requests, with each reply compared byte for byte.
//!
//! A [`Generator`] runs in the calling thread, as one event loop over all connections; [`Generators`] runs several of them
//! for one load. Connections persist from one step to the next:
//!
//! ```no_run
//! use std::time::Duration;
//! use loadgen::{Generator, Load};
//! use serving::Protocol;
//!
//! # fn main() -> Result<(), platform::CaseError> {
//! let to = "127.0.0.1:2525".parse().expect("an address");
//! let mut generator = Generator::new(Load::new(to, Protocol::TOO_BUSY))?;
//! for concurrency in [1, 10, 100, 1_000] {
//!     let step = generator.step(concurrency, Duration::from_secs(5))?;
//!     println!("{concurrency}: {:.0} replies/s", step.replies_per_s());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Closed loop** ([`Generator::step`]): each connection begins its next exchange when the previous one is done. The
//! latencies are those of a fixed number of clients that send nothing while they wait: a stall delays each client once,
//! however many requests would have arrived meanwhile.
//!
//! **Open loop** ([`Generator::rate`]): exchanges begin at scheduled times, at equal distances, whether or not earlier
//! exchanges are done. Latencies count from the scheduled time, so that a stall delays all requests that would have arrived
//! during it.
//!
//! **TIME_WAIT**: if the server closes first, no TIME_WAIT remains on either side: after reading the end of the stream, the
//! client resets the connection, and its port is free at once. A connection that the client closes first leaves a
//! TIME_WAIT.

mod connection;
mod external;
mod generator;
mod generators;
mod load;
mod peers;
mod reply;
mod schedule;
mod slow;
mod step;
mod verdict;
mod window;

pub use generator::{Generator, Held, Offer};
pub use generators::Generators;
pub use load::Load;
pub use slow::SlowClients;
pub use step::{ErrorKind, Errors, Step, Unfinished};
pub use window::Window;
