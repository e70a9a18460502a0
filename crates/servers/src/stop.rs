//! How a server is told to stop, and tells that it has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::shared::Shared;

/// How long a request waits to be noticed; by then, whoever has not noticed was killed.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// Tells a server, all its threads and processes, to accept no more and to end once the clients it has are
/// served.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    state: Shared<State>,
}

#[derive(Debug, Default)]
struct State {
    requested: AtomicBool,
    /// Threads and processes that may be waiting for a connection, and notice nothing before one comes.
    asleep: AtomicU32,
    /// Those of them that take what has arrived since the request.
    draining: AtomicU32,
}

impl Stop {
    /// Not requested yet.
    ///
    /// # Errors
    /// Where the system has no memory to share.
    pub fn new() -> Result<Self, CaseError> {
        Ok(Self { state: Shared::new(State::default())? })
    }

    /// Requests it of the server at `address`, and waits until nobody is left who could not notice, a few seconds
    /// at most. Whoever is blocked in accept(2) is woken by a connection: there is no other way
    /// that has no race and exists everywhere.
    pub fn request(&self, address: SocketAddr) {
        self.state.requested.store(true, Ordering::SeqCst);
        let (address, began) = (reachable(address), Instant::now());
        while !self.all_awake() && began.elapsed() < NOTICED_WITHIN {
            if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100))
            {
                // Where the system waits for clients to speak first. A process forked just now has this end
                // of the connection too, so that closing ours would not end it.
                let _ = std::io::Write::write(&mut stream, b"\r\n");
                let _ = stream.shutdown(Shutdown::Write);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether it was requested.
    pub fn is_requested(&self) -> bool {
        self.state.requested.load(Ordering::SeqCst)
    }

    /// Says that from now on this thread or process may be waiting for a connection. It must look whether the
    /// stop was requested after this and before it waits.
    pub(crate) fn may_sleep(&self) {
        self.state.asleep.fetch_add(1, Ordering::SeqCst);
    }

    /// The opposite of [`Stop::may_sleep`].
    pub(crate) fn is_awake(&self) {
        self.state.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Says that this thread or process is to take what has arrived. Waits until all others are awake, if
    /// none that may sleep was killed: connections are not to be taken away from those whom they are to wake.
    pub(crate) fn begin_to_drain(&self) {
        self.state.draining.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        while !self.all_awake() && began.elapsed() < NOTICED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Says that this one leaves the rest to the others; whether there are any.
    pub(crate) fn leave_to_others(&self) -> bool {
        self.state.draining.fetch_sub(1, Ordering::SeqCst) > 1
    }

    fn all_awake(&self) -> bool {
        self.state.asleep.load(Ordering::SeqCst) == 0
    }
}

/// Where a server can be reached that listens at `address`, maybe at any.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
