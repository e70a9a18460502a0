//! Stops a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::memory::shared::Shared;

/// Time limit for threads and processes to notice the request; any that have not by then were killed.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// A request to stop all threads and processes of a server: they accept pending connections, then no more, and end with
/// their last connection.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    state: Shared<State>,
}

#[derive(Debug, Default)]
struct State {
    requested: AtomicBool,
    /// Number of threads and processes that may be waiting for a connection, and notice the request only when one arrives.
    waiting: AtomicU32,
    /// Number of threads and processes that drain the accept queue.
    draining: AtomicU32,
}

impl Stop {
    /// Creates the state of a stop that is not requested yet.
    ///
    /// # Errors
    /// If the system has no memory to share.
    pub fn new() -> Result<Self, CaseError> {
        Ok(Self { state: Shared::new(State::default())? })
    }

    /// Requests the stop without waking any thread: a waiting thread notices it later.
    pub fn request(&self) {
        self.state.requested.store(true, Ordering::SeqCst);
    }

    /// Requests the stop of the server at `address`, and waits, for a few seconds at most, until every thread and process
    /// can notice it. Connections wake those that block in accept(2): all other means have a race or do not exist on every
    /// system.
    pub fn request_and_wake(&self, address: SocketAddr) {
        self.request();
        let (address, began) = (reachable(address), Instant::now());
        while self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN {
            if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100))
            {
                // Data is sent because the system may defer the connection until the client has sent. The shutdown is
                // needed because a process forked just now also has this socket, so that closing it here would not end the
                // connection.
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

    /// Declares that this thread or process may wait for a connection from now on. It must call [`Stop::is_requested`]
    /// after this and before it waits.
    pub fn begin_wait(&self) {
        self.state.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Declares that the wait is over.
    pub fn end_wait(&self) {
        self.state.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Declares that this thread or process drains the accept queue from now on. Waits until no other one waits for a
    /// connection, unless one was killed: the connections that wake the others must not be accepted here.
    pub(crate) fn begin_to_drain(&self) {
        self.state.draining.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        while self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Leaves the rest of the queue to other draining threads and processes; returns whether there are any.
    pub(crate) fn leave_drain(&self) -> bool {
        self.state.draining.fetch_sub(1, Ordering::SeqCst) > 1
    }

    fn is_any_waiting(&self) -> bool {
        self.state.waiting.load(Ordering::SeqCst) > 0
    }
}

/// A reachable address of a server that listens at `address`, which may be the unspecified one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
