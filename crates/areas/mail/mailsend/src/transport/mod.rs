//! Transports, the ways in which connections are served. All go through the dispatcher, one request at a time.

mod blocking;
mod event_loop;
#[cfg(unix)]
mod processes;
mod socket;
mod threads;

use crate::delivery::Delivery;
use crate::error::SendError;
use crate::options::Transport;
use crate::tally::Summary;

/// Carries out a delivery until all recipients have a final result, or its signals stop it.
///
/// # Errors
/// If the delivery cannot continue. The journal, if there is one, has the results so far.
pub fn deliver(delivery: &Delivery) -> Result<Summary, SendError> {
    delivery.begin();
    let stats = match delivery.options().transport {
        Transport::Loops(loops, backend) => event_loop::run(delivery, loops, backend),
        Transport::Threads => threads::run(delivery),
        Transport::Processes => processes::run(delivery),
    };
    delivery.summary(stats?)
}

#[cfg(not(unix))]
mod processes {
    use crate::delivery::Delivery;
    use crate::error::SendError;
    use crate::stats::TransportStats;

    pub fn run(_: &Delivery) -> Result<TransportStats, SendError> {
        Err(SendError::Unsupported("there is no fork"))
    }
}
