//! Stops a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::memory::shared::Shared;
use platform::process::interrupts::{Interruptible, interrupt};

/// Time limit for threads and processes to notice the request; any that have not by then were killed.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);
/// Interval at which threads that have not noticed the request are interrupted again.
const AGAIN_AFTER: Duration = Duration::from_millis(1);
/// Time after which the server is also woken by connections, in case that the system denies interrupts.
const INTERRUPTS_FOR: Duration = Duration::from_millis(200);
/// First and longest interval at which each waiting thread gets a connection. A thread that only lacks a CPU must serve them
/// all before it can end.
const CONNECTED_AFTER: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(160)];
/// Maximum number of waiters, more than the workers that any server has.
const WAITERS_AT_MOST: usize = 8 * 1024;

/// A request to stop all threads and processes of a server: they accept pending connections, then no more, and end with
/// their last connection.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    state: Shared<State>,
    waiting: Shared<[AtomicU64]>,
    /// For each waiter its process.
    processes: Shared<[AtomicU64]>,
}

#[derive(Debug, Default)]
struct State {
    requested: AtomicBool,
    /// Number of waiters so far.
    waiters: AtomicUsize,
    /// Number of threads and processes that drain the accept queue.
    draining: AtomicU32,
    /// Number of threads that interrupt others now.
    interrupting: AtomicU32,
}

/// The value for a wait that cannot be interrupted.
const UNKNOWN: u64 = u64::MAX;

/// A thread, or a process with one thread, that waits for connections.
#[derive(Debug)]
pub struct Waiter {
    place: &'static AtomicU64,
    state: &'static State,
    id: u64,
}

impl Waiter {
    /// Declares that the thread may wait for a connection from now on. It must call [`Stop::is_requested`] after this and
    /// before it waits.
    pub fn begin_wait(&self) {
        self.place.store(self.id, Ordering::SeqCst);
    }

    /// Declares that the wait is over.
    pub fn end_wait(&self) {
        self.place.store(0, Ordering::SeqCst);
    }
}

impl Drop for Waiter {
    /// Waits for a thread that may be about to interrupt this one: afterwards the thread may end, and its listener be closed.
    fn drop(&mut self) {
        self.end_wait();
        let began = Instant::now();
        while self.state.interrupting.load(Ordering::SeqCst) > 0 && began.elapsed() < NOTICED_WITHIN
        {
            std::thread::sleep(AGAIN_AFTER);
        }
    }
}

impl Stop {
    /// Creates the state of a stop that is not requested yet.
    ///
    /// # Errors
    /// If the system has no memory to share.
    pub fn new() -> Result<Self, CaseError> {
        let zeros = || Shared::zeros(WAITERS_AT_MOST);
        Ok(Self { state: Shared::new(State::default())?, waiting: zeros()?, processes: zeros()? })
    }

    /// Requests the stop without waking any thread: a waiting thread notices it later.
    pub fn request(&self) {
        self.state.requested.store(true, Ordering::SeqCst);
    }

    /// Requests the stop of the server at `address`, and waits, for a few seconds at most, until every thread and process
    /// can notice it. Those that wait are interrupted; an interrupt that comes just before the wait has no effect, and is
    /// repeated. Where the system denies that, connections wake them, as long as the address answers.
    pub fn request_and_wake(&self, address: SocketAddr) {
        self.request();
        let (address, began) = (reachable(address), Instant::now());
        let is_awaited = || self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN;
        let (mut connects_at, [mut interval, longest]) = (INTERRUPTS_FOR, CONNECTED_AFTER);
        while is_awaited() {
            self.interrupt_all();
            if began.elapsed() >= connects_at {
                let waiting = self.waiting().filter(|place| place.load(Ordering::SeqCst) != 0);
                for _ in 0..waiting.count() {
                    if is_awaited() {
                        wake_by_connection(address);
                    }
                }
                connects_at = began.elapsed() + interval;
                interval = (2 * interval).min(longest);
            }
            std::thread::sleep(AGAIN_AFTER);
        }
    }

    /// Whether the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.state.requested.load(Ordering::SeqCst)
    }

    /// Makes the calling thread one that [`Stop::request_and_wake`] wakes while it waits. A wait that cannot be interrupted
    /// must end by itself after [`STOP_CHECKED_EVERY`](crate::STOP_CHECKED_EVERY).
    ///
    /// # Panics
    /// If there are thousands of others.
    pub fn waiter(&self, wait: Option<Interruptible>) -> Waiter {
        let nth = self.state.waiters.fetch_add(1, Ordering::Relaxed);
        if let Some(wait) = wait {
            self.processes[nth].store(wait.process.into(), Ordering::SeqCst);
        }
        let id = wait.map_or(UNKNOWN, |wait| wait.id);
        Waiter { place: &self.waiting.get()[nth], state: self.state.get(), id }
    }

    /// Declares that this thread or process drains the accept queue from now on. Waits until no other one waits for a
    /// connection, unless one was killed: the connections that wake the others must not be accepted here.
    pub(crate) fn begin_to_drain(&self) {
        self.state.draining.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        while self.is_any_waiting() && began.elapsed() < NOTICED_WITHIN {
            std::thread::sleep(AGAIN_AFTER);
        }
    }

    /// Leaves the rest of the queue to other draining threads and processes; returns whether there are any.
    pub(crate) fn leave_drain(&self) -> bool {
        self.state.draining.fetch_sub(1, Ordering::SeqCst) > 1
    }

    fn interrupt_all(&self) {
        self.state.interrupting.fetch_add(1, Ordering::SeqCst);
        for (place, process) in self.waiting().zip(self.processes.iter()) {
            match place.load(Ordering::SeqCst) {
                0 | UNKNOWN => {}
                id => {
                    let process = process.load(Ordering::SeqCst) as u32;
                    interrupt(Interruptible { process, id });
                }
            }
        }
        self.state.interrupting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a thread or process waits for a connection.
    pub fn is_any_waiting(&self) -> bool {
        self.waiting().any(|place| place.load(Ordering::SeqCst) != 0)
    }

    fn waiting(&self) -> impl Iterator<Item = &'static AtomicU64> {
        self.waiting.get().iter().take(self.state.waiters.load(Ordering::SeqCst))
    }
}

/// Wakes one thread that waits for a connection.
fn wake_by_connection(address: SocketAddr) {
    if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        // Data is sent because the system may defer the connection until the client has sent. The shutdown is
        // needed because a process forked just now also has this socket, so that closing it here would not end the
        // connection.
        let _ = std::io::Write::write(&mut stream, b"\r\n");
        let _ = stream.shutdown(Shutdown::Write);
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A loop that got no CPU for seconds was left with a thousand connections, each with work to do.
    #[test]
    fn a_thread_that_notices_late_is_left_few_connections() {
        let stop = Stop::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let waiter = stop.waiter(None);
        waiter.begin_wait();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // A connection in each pause would be more than the test allows.
                std::thread::sleep(INTERRUPTS_FOR + 300 * AGAIN_AFTER);
                waiter.end_wait();
            });
            stop.request_and_wake(listener.local_addr().unwrap());
        });
        listener.set_nonblocking(true).unwrap();
        let left = std::iter::from_fn(|| listener.accept().ok()).count();
        assert!((1..=50).contains(&left), "{left} connections");
    }
}
