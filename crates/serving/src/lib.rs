//! Parts that the servers, the SMTP sink and the load generator share.
//!
//! - [`Acceptor`] accepts connections for event loops, [`BlockingAcceptor`] for threads and processes: both pause after a
//!   shortage and drain the accept queue when [`Stop`] is requested.
//! - [`Slots`], [`TimerQueue`] and [`Deadlines`] keep the connections of an event loop and their timeouts.
//! - [`hosted`] runs a server in a child process that reports its CPU time and counters.
//! - [`SplitMix64`] generates reproducible pseudorandom numbers.
//! - [`protocol`] defines the protocols of `servers` and the load generator, [`http`] reads messages of HTTP.

mod accept;
mod acceptor;
mod blocking_acceptor;
mod deadlines;
pub mod hosted;
pub mod http;
pub mod protocol;
mod random;
mod slots;
mod stop;
mod timers;

pub use accept::{
    AcceptContext, Drain, PAUSE, STOP_CHECKED_EVERY, Shortages, is_of_one_connection,
};
pub use acceptor::{Acceptor, BURST_AT_MOST};
pub use blocking_acceptor::BlockingAcceptor;
pub use deadlines::Deadlines;
pub use protocol::{ExchangeKind, NoSuchProtocol, Protocol};
pub use random::SplitMix64;
pub use slots::Slots;
pub use stop::{Stop, Waiter};
pub use timers::TimerQueue;
