//! How a server is told to stop, and tells that it has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use platform::Refusal;
use platform::shared::Shared;

/// How long [`Stop::request`] tries to be noticed.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// Tells a server, all its threads and processes, to accept no more and to end once the clients it has are
/// served.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    state: Shared<State>,
}

#[derive(Debug)]
struct State {
    requested: AtomicBool,
    /// Threads and processes that accept connections.
    acceptors: AtomicU32,
    /// How many of them have seen the request.
    noticed: AtomicU32,
}

impl Stop {
    /// Not requested yet.
    ///
    /// # Errors
    /// Where the system has no memory to share.
    pub fn new() -> Result<Self, Refusal> {
        let state = State {
            requested: AtomicBool::new(false),
            acceptors: AtomicU32::new(1),
            noticed: AtomicU32::new(0),
        };
        Ok(Self { state: Shared::new(state)? })
    }

    /// Requests it of the server at `address`, and waits until all who accept have noticed, a few seconds at
    /// most. Whoever is blocked in accept(2) is woken by a connection: there is no other way
    /// that has no race and exists everywhere.
    pub fn request(&self, address: SocketAddr) {
        self.state.requested.store(true, Ordering::SeqCst);
        let (address, began) = (reachable(address), Instant::now());
        while !self.is_noticed() && began.elapsed() < NOTICED_WITHIN {
            if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100))
            {
                // Where the system waits for clients to speak first. A process forked just now has this end
                // of the connection too, so that closing ours would not end it.
                let _ = std::io::Write::write(&mut stream, b"\r\n");
                let _ = stream.shutdown(Shutdown::Write);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Whether it was requested.
    pub fn is_requested(&self) -> bool {
        self.state.requested.load(Ordering::Relaxed)
    }

    /// Says that so many threads or processes accept connections; one, if never said.
    pub(super) fn set_acceptors(&self, acceptors: usize) {
        self.state.acceptors.store(acceptors as u32, Ordering::SeqCst);
    }

    /// One of them has noticed the request; says whether it was the last.
    pub(super) fn notice(&self) -> bool {
        self.state.noticed.fetch_add(1, Ordering::SeqCst) + 1 >= self.acceptors()
    }

    fn acceptors(&self) -> u32 {
        self.state.acceptors.load(Ordering::SeqCst)
    }

    fn is_noticed(&self) -> bool {
        self.state.noticed.load(Ordering::SeqCst) >= self.acceptors()
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
