//! Stopping a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::shared::Shared;

/// How long the request waits for threads and processes to notice it; those that have not by then were killed.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// Stops a server, all its threads and processes: they accept the pending connections, then no more, and end when the
/// connections that remain have ended.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    state: Shared<State>,
}

#[derive(Debug, Default)]
struct State {
    requested: AtomicBool,
    /// Threads and processes that may be waiting for a connection, and notice nothing before one arrives.
    waiting: AtomicU32,
    /// Threads and processes that drain the accept queue.
    draining: AtomicU32,
}

impl Stop {
    /// Not requested yet.
    ///
    /// # Errors
    /// If the system has no memory to share.
    pub fn new() -> Result<Self, CaseError> {
        Ok(Self { state: Shared::new(State::default())? })
    }

    /// Requests the stop. It wakes nothing: a thread that waits notices it later.
    pub fn request(&self) {
        self.state.requested.store(true, Ordering::SeqCst);
    }

    /// Requests the stop of the server at `address`, and waits until no thread or process is left that could fail to
    /// notice it, for a few seconds at most. Those that block in accept(2) are woken by connections: all other means
    /// have a race or do not exist on every system.
    pub fn request_and_wake(&self, address: SocketAddr) {
        self.request();
        let (address, began) = (reachable(address), Instant::now());
        while self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN {
            if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100))
            {
                // Data, since the system may defer the connection until the client has sent. Shutdown, since a process
                // that was just forked has this socket too: closing ours would not end the connection.
                let _ = std::io::Write::write(&mut stream, b"\r\n");
                let _ = stream.shutdown(Shutdown::Write);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.state.requested.load(Ordering::SeqCst)
    }

    /// From now on this thread or process may wait for a connection. It must call [`Stop::is_requested`] after this and
    /// before it waits.
    pub fn begin_wait(&self) {
        self.state.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// The end of [`Stop::begin_wait`].
    pub fn end_wait(&self) {
        self.state.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// This thread or process drains the accept queue from now on. Waits until no other one is waiting, unless one was
    /// killed: the connections that are to wake them must not be accepted here.
    pub(crate) fn begin_to_drain(&self) {
        self.state.draining.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        while self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// This thread or process leaves the rest of the queue to the others; returns whether there are any.
    pub(crate) fn leave_drain(&self) -> bool {
        self.state.draining.fetch_sub(1, Ordering::SeqCst) > 1
    }

    fn is_any_waiting(&self) -> bool {
        self.state.waiting.load(Ordering::SeqCst) > 0
    }
}

/// An address at which a server is reachable that listens at `address`, maybe the unspecified one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
