//! Rules of accepting: shortages, errors that concern one connection only, and draining the accept queue at the stop.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use platform::socket::server::{has_deferred, ignore_new};

use crate::stop::Stop;

/// Pause of accepting after a shortage, unless a connection is closed before.
pub const PAUSE: Duration = Duration::from_millis(10);
/// Interval at which a server without new clients checks whether it must stop, where its wait cannot be interrupted.
pub const STOP_CHECKED_EVERY: Duration = Duration::from_millis(50);
/// Time at the stop for connections that are being established to arrive.
pub(crate) const ARRIVE_WITHIN: Duration = Duration::from_millis(20);
/// Time at the stop for connections that the system defers until the client has sent.
const DEFERRED_ARRIVE_WITHIN: Duration = Duration::from_secs(2);

/// The part of a server that accepting connections depends on.
#[derive(Debug, Clone, Copy)]
pub struct AcceptContext<'a> {
    /// The stop of the server.
    pub stop: Stop,
    /// Whether clients send first, so that the system may defer connections.
    pub clients_send_first: bool,
    /// Counters of shortages.
    pub shortages: &'a Shortages,
}

/// Shortages while accepting.
#[derive(Debug, Default)]
pub struct Shortages {
    /// Number of times that no descriptor was left for a connection.
    pub no_descriptor: AtomicU64,
    /// Number of times that no memory or buffer was left for a connection.
    pub no_memory: AtomicU64,
}

impl Shortages {
    /// Counts the shortage that `error` reports.
    pub fn note(&self, error: &io::Error) {
        let counter = match error.kind() {
            ErrorKind::OutOfMemory => &self.no_memory,
            _ => &self.no_descriptor,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether an error of accept(2) concerns at most one connection, not the listener.
pub fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
        PermissionDenied, TimedOut,
    };
    matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkUnreachable
            | PermissionDenied
            | TimedOut
    )
}

/// The time limits for draining accept queues after the stop was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain {
    /// Connections are accepted until this time in any case.
    pub(crate) accept_until: Instant,
    /// Deferred connections are awaited until this time.
    defer_until: Instant,
    /// Whether the system ignores new connections; otherwise they could arrive for ever.
    ignores_new: bool,
}

impl Drain {
    /// Begins to drain: makes the system ignore new connections, where it supports that.
    pub fn begin<'a>(
        listeners: impl IntoIterator<Item = &'a TcpListener>,
        context: &AcceptContext,
    ) -> Self {
        let mut ignores_new = true;
        for listener in listeners {
            ignores_new &= ignore_new(listener);
        }
        let now = Instant::now();
        let deferred =
            if context.clients_send_first { DEFERRED_ARRIVE_WITHIN } else { ARRIVE_WITHIN };
        Self { accept_until: now + ARRIVE_WITHIN, defer_until: now + deferred, ignores_new }
    }

    /// Whether accepting ends now although connections may be pending.
    pub fn is_cut_off(self) -> bool {
        !self.ignores_new && Instant::now() >= self.accept_until
    }

    /// Whether a connection may still arrive at `listener`, besides those that are pending.
    pub fn may_arrive(self, listener: &TcpListener) -> bool {
        let now = Instant::now();
        now < self.accept_until || (now < self.defer_until && has_deferred(listener))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortages_are_counted_by_kind() {
        let shortages = Shortages::default();
        shortages.note(&io::Error::from(ErrorKind::OutOfMemory));
        shortages.note(&io::Error::other("too many open files"));
        shortages.note(&io::Error::other("too many open files"));
        let counts = [&shortages.no_memory, &shortages.no_descriptor];
        assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [1, 2]);
    }
}
