//! Delivers a message to a long list of recipients over SMTP, with thousands of connections at a time.
//!
//! [`list`], [`message`] and [`route`] define the recipients, the message and the servers. [`queue`] decides which
//! recipients are next, [`journal`] records the results. All transports (event loops, threads, processes) go through one
//! dispatcher, one request at a time: see [`Delivery`] and [`deliver`].

pub mod credentials;
pub mod journal;
pub mod list;
pub mod message;
pub mod queue;
pub mod route;
pub mod tls;

mod delivery;
mod dispatcher;
mod error;
mod health;
mod options;
mod stats;
mod tally;
mod transactions;
mod transport;

pub use delivery::{Delivery, Progress};
pub use dispatcher::{Notice, NoticeKind, Signals};
pub use error::SendError;
pub use options::{DeliveryOptions, Transport};
pub use stats::TransportStats;
pub use tally::{Count, Ended, Summary};
pub use transport::deliver;
