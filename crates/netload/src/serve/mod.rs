//! Servers of every architecture, one file each: read the file from top to bottom, and you have seen what
//! the architecture does.
//!
//! All share what is not architecture: [`exchange`] knows what is said, [`accepting`] what to do on
//! shortage and at the end, [`conversation`] talks by calls that wait, [`connections`] keeps those of an
//! event loop.

mod accepting;
mod connection;
mod connections;
mod conversation;
mod exchange;
mod stop;

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(target_os = "linux")]
mod epoll_per_cpu;
#[cfg(unix)]
pub mod exec;
#[cfg(unix)]
mod fork;
#[cfg(target_os = "linux")]
mod io_uring;
#[cfg(windows)]
mod iocp;
#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
))]
mod kqueue;
#[cfg(unix)]
mod poll;
mod pool;
#[cfg(unix)]
mod prefork;
#[cfg(unix)]
mod select;
#[cfg(windows)]
#[path = "winselect.rs"]
mod select;
mod threads;
mod tokio;
#[cfg(windows)]
mod wsapoll;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use platform::CaseError;
use platform::shared::Shared;
use platform::socket::{Listening, listen};

pub use stop::Stop;

use crate::Protocol;
use accepting::{Acceptor, Blocking};

/// A way to build a server.
#[derive(Clone, Copy)]
pub struct Architecture {
    /// Its name.
    pub name: &'static str,
    /// What it does with each connection.
    pub meaning: &'static str,
    /// Serves until told to stop; or why this system lacks it.
    serve: Result<Serve, &'static str>,
    /// Several sockets listen on its port.
    shares_port: bool,
}

type Serve = fn(&Server) -> io::Result<()>;

macro_rules! architecture {
    ($name:literal, $meaning:literal, shares_port, $here:meta, $serve:expr, $missing:literal) => {{
        #[cfg($here)]
        let serve = Ok($serve as Serve);
        #[cfg(not($here))]
        let serve = Err($missing);
        Architecture { name: $name, meaning: $meaning, serve, shares_port: true }
    }};
    ($name:literal, $meaning:literal, $here:meta, $serve:expr, $missing:literal) => {{
        #[cfg($here)]
        let serve = Ok($serve as Serve);
        #[cfg(not($here))]
        let serve = Err($missing);
        Architecture { name: $name, meaning: $meaning, serve, shares_port: false }
    }};
}

/// All architectures, in the order they are listed.
pub const ARCHITECTURES: &[Architecture] = &[
    architecture!(
        "fork",
        "a process for each connection, forked",
        unix,
        fork::serve,
        "Windows has no fork"
    ),
    architecture!(
        "exec",
        "a process for each connection that starts a program anew, as inetd does",
        unix,
        exec::serve,
        "Windows hands no connection to a program as its standard input and output"
    ),
    architecture!(
        "prefork",
        "processes forked beforehand, each with one connection at a time",
        unix,
        prefork::serve,
        "Windows has no fork"
    ),
    architecture!("threads", "a thread for each connection", all(), threads::serve, ""),
    architecture!(
        "pool",
        "threads started beforehand, each with one connection at a time",
        all(),
        pool::serve,
        ""
    ),
    architecture!(
        "select",
        "an event loop over select, which takes 1024 descriptors at most",
        all(),
        select::serve,
        ""
    ),
    architecture!(
        "poll",
        "an event loop over poll",
        unix,
        poll::serve,
        "Windows has wsapoll instead"
    ),
    architecture!(
        "wsapoll",
        "an event loop over WSAPoll, the poll of Windows",
        windows,
        wsapoll::serve,
        "exists only on Windows"
    ),
    architecture!(
        "epoll",
        "an event loop over epoll, told once of what is new (edge-triggered)",
        target_os = "linux",
        epoll::serve_edge,
        "exists only on Linux"
    ),
    architecture!(
        "epoll-level",
        "an event loop over epoll, told as long as there is something (level-triggered)",
        target_os = "linux",
        epoll::serve_level,
        "exists only on Linux"
    ),
    architecture!(
        "epoll-per-cpu",
        "an event loop as of epoll on each CPU, each with a listener of its own (SO_REUSEPORT)",
        shares_port,
        target_os = "linux",
        epoll_per_cpu::serve,
        "exists only on Linux"
    ),
    architecture!(
        "kqueue",
        "an event loop over kqueue, told as long as there is something (level-triggered)",
        any(
            target_vendor = "apple",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd"
        ),
        kqueue::serve,
        "exists only on the BSDs and macOS"
    ),
    architecture!(
        "io_uring",
        "an event loop over io_uring: what is to be done is queued, what is done comes back",
        target_os = "linux",
        io_uring::serve,
        "exists only on Linux"
    ),
    architecture!(
        "iocp",
        "an event loop over a completion port: what is to be done is begun, what is done comes back",
        windows,
        iocp::serve,
        "exists only on Windows"
    ),
    architecture!(
        "tokio",
        "a task for each connection, on tokio's threads, as many as CPUs",
        all(),
        tokio::serve,
        ""
    ),
];

impl fmt::Debug for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Architecture {
    /// The architecture of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ARCHITECTURES.iter().find(|architecture| architecture.name == name)
    }

    /// Why this system has no such thing; `None` if it has.
    pub fn missing_here(&self) -> Option<&'static str> {
        self.serve.err()
    }

    /// A server that listens at `address`, but does not serve yet.
    ///
    /// # Errors
    /// Unsupported where this system lacks it; else those of listening.
    pub fn bind(&self, address: SocketAddr, plan: &Plan) -> Result<Server, CaseError> {
        let serve = self.serve.map_err(|why| CaseError::Unsupported(why.to_owned()))?;
        let how = Listening {
            shared_port: self.shares_port,
            client_begins: plan.protocol.client_begins(),
        };
        let open =
            |at| listen(at, how).map_err(|e| CaseError::from_io(&format!("listen at {at}"), &e));
        let mut listeners = vec![open(address)?];
        let bound = listeners[0]
            .local_addr()
            .map_err(|e| CaseError::from_io("getsockname of the listener", &e))?;
        while self.shares_port && listeners.len() < plan.cpus.len() {
            listeners.push(open(bound)?);
        }
        Ok(Server {
            serve,
            listeners,
            address: bound,
            workers: plan.workers.max(1),
            cpus: plan.cpus.clone(),
            #[cfg(unix)]
            stdio_arguments: plan.stdio_arguments.clone(),
            terms: Terms::new(plan.protocol, plan.timeout)?,
        })
    }
}

/// What a server is to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it says.
    pub protocol: Protocol,
    /// How long a client may keep it waiting: for a whole request, and with taking what is sent.
    pub timeout: Duration,
    /// Threads or processes, where they are started beforehand.
    pub workers: usize,
    /// The processors it runs on.
    pub cpus: Vec<usize>,
    /// Arguments with which this program calls `exec::serve_stdio`, for the architecture `exec`.
    pub stdio_arguments: Vec<String>,
}

/// A server that listens: what every architecture is given.
pub struct Server {
    serve: Serve,
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    workers: usize,
    cpus: Vec<usize>,
    #[cfg(unix)]
    stdio_arguments: Vec<String>,
    terms: Terms,
}

/// What all that talk with clients go by.
#[derive(Debug, Clone, Copy)]
struct Terms {
    protocol: Protocol,
    timeout: Duration,
    stop: Stop,
    counters: Shared<Counters>,
}

impl Terms {
    fn new(protocol: Protocol, timeout: Duration) -> Result<Self, CaseError> {
        let counters = Shared::new(Counters::default())?;
        Ok(Self { protocol, timeout, stop: Stop::new()?, counters })
    }

    /// A client's conversation ended with an error of its socket.
    fn note_ended(&self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            self.note_timed_out();
        }
    }

    fn note_timed_out(&self) {
        self.counters.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Serves until told to stop, then until all clients it has are served or their time is up.
    ///
    /// # Errors
    /// Where it cannot go on at all. What concerns one client only is no error.
    pub fn serve(&self) -> io::Result<()> {
        (self.serve)(self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How to stop it, from another thread.
    pub fn stop(&self) -> Stop {
        self.terms.stop
    }

    /// What went wrong so far.
    pub fn counters(&self) -> Shared<Counters> {
        self.terms.counters
    }

    /// Connections as they come, by calls that wait.
    fn connections(&self) -> Blocking<'_> {
        Blocking::new(self)
    }
}

/// What a server met that it could do nothing about, shared by all its processes.
#[derive(Debug, Default)]
pub struct Counters {
    /// Clients that kept it waiting too long.
    pub timed_out: AtomicU64,
    /// Times there was no descriptor for a connection.
    pub no_descriptor: AtomicU64,
    /// Times there was no memory or buffer for a connection.
    pub no_memory: AtomicU64,
    /// Times no process or thread could be started for a connection.
    pub no_process: AtomicU64,
}

impl Counters {
    fn note_shortage(&self, error: &io::Error) {
        let counter = match error.kind() {
            io::ErrorKind::OutOfMemory => &self.no_memory,
            _ => &self.no_descriptor,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn note_no_room(&self) {
        self.no_descriptor.fetch_add(1, Ordering::Relaxed);
    }

    fn note_no_process(&self) {
        self.no_process.fetch_add(1, Ordering::Relaxed);
    }
}
