//! The list of architectures. Each is a file in the folder `architecture`, which shows what the architecture does with
//! connections.

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
#[path = "architecture/winselect.rs"]
mod select;
mod threads;
mod tokio;
#[cfg(windows)]
mod wsapoll;

use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;

use platform::CaseError;
use platform::process::inherited::not_created;

use crate::server::{Serve, Server, ServerOptions};

/// Tries what an architecture needs besides sockets: a system may deny it to this process.
type Needs = fn() -> Result<(), CaseError>;

/// A way to build a server.
#[derive(Clone, Copy)]
pub struct Architecture {
    /// Name.
    pub name: &'static str,
    /// Description of how connections are served.
    pub meaning: &'static str,
    /// The function that serves until the stop is requested; the reason if this system lacks the architecture.
    serve: Result<Serve, &'static str>,
    /// Tries once what the architecture needs of the system.
    needs: Needs,
    /// Whether several sockets listen on the server's port.
    shares_port: bool,
}

macro_rules! architecture {
    ($name:literal, $meaning:literal, shares_port, $($rest:tt)*) => {
        Architecture { shares_port: true, ..architecture!($name, $meaning, $($rest)*) }
    };
    ($name:literal, $meaning:literal, $here:meta, $needs:expr, $serve:expr, $missing:literal) => {{
        #[cfg($here)]
        let (serve, needs): (Result<Serve, _>, Needs) = (Ok($serve), $needs);
        #[cfg(not($here))]
        let (serve, needs): (Result<Serve, _>, Needs) = (Err($missing), nothing);
        Architecture { name: $name, meaning: $meaning, serve, needs, shares_port: false }
    }};
}

/// All architectures, in the order of lists.
pub const ARCHITECTURES: &[Architecture] = &[
    architecture!(
        "fork",
        "a process for each connection, forked",
        unix,
        processes,
        fork::serve,
        "Windows has no fork"
    ),
    architecture!(
        "exec",
        "a process for each connection that executes a program, as inetd does",
        unix,
        processes,
        exec::serve,
        "Windows cannot pass a connection to a program as standard input and output"
    ),
    architecture!(
        "prefork",
        "processes forked in advance, each with one connection at a time",
        unix,
        processes,
        prefork::serve,
        "Windows has no fork"
    ),
    architecture!("threads", "a thread for each connection", all(), threads, threads::serve, ""),
    architecture!(
        "pool",
        "threads started in advance, each with one connection at a time",
        all(),
        threads,
        pool::serve,
        ""
    ),
    architecture!(
        "select",
        "an event loop over select, limited to 1024 descriptors",
        all(),
        nothing,
        select::serve,
        ""
    ),
    architecture!(
        "poll",
        "an event loop over poll",
        unix,
        nothing,
        poll::serve,
        "Windows has wsapoll instead"
    ),
    architecture!(
        "wsapoll",
        "an event loop over WSAPoll, the poll of Windows",
        windows,
        nothing,
        wsapoll::serve,
        "exists only on Windows"
    ),
    architecture!(
        "epoll",
        "an event loop over epoll, edge-triggered",
        target_os = "linux",
        epoll::check,
        epoll::serve_edge,
        "exists only on Linux"
    ),
    architecture!(
        "epoll-level",
        "an event loop over epoll, level-triggered",
        target_os = "linux",
        epoll::check,
        epoll::serve_level,
        "exists only on Linux"
    ),
    architecture!(
        "epoll-per-cpu",
        "an event loop as `epoll` for each CPU, each with its own listener (SO_REUSEPORT)",
        shares_port,
        target_os = "linux",
        epoll_per_cpu::check,
        epoll_per_cpu::serve,
        "exists only on Linux"
    ),
    architecture!(
        "kqueue",
        "an event loop over kqueue, level-triggered",
        any(
            target_vendor = "apple",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd"
        ),
        kqueue::check,
        kqueue::serve,
        "exists only on the BSDs and macOS"
    ),
    architecture!(
        "io_uring",
        "an event loop over io_uring: queues of operations and of completions",
        target_os = "linux",
        io_uring::check,
        io_uring::serve,
        "exists only on Linux"
    ),
    architecture!(
        "iocp",
        "an event loop over an I/O completion port",
        windows,
        nothing,
        iocp::serve,
        "exists only on Windows"
    ),
    architecture!(
        "tokio",
        "a task for each connection, on tokio's threads, as many as CPUs",
        all(),
        tokio::check,
        tokio::serve,
        ""
    ),
];

/// An architecture that needs nothing that could be denied.
fn nothing() -> Result<(), CaseError> {
    Ok(())
}

/// Checks whether a thread can be started.
fn threads() -> Result<(), CaseError> {
    let started = std::thread::Builder::new().spawn(|| {});
    let thread = started.map_err(|e| match (e.kind(), not_created("a thread", &e)) {
        (ErrorKind::PermissionDenied, CaseError::Failed(why)) => CaseError::Unsupported(why),
        (_, case_error) => case_error,
    })?;
    thread.join().map_err(|_| CaseError::Failed("a thread that does nothing failed".into()))
}

/// Checks whether a process can be forked.
#[cfg(unix)]
fn processes() -> Result<(), CaseError> {
    let ended = platform::process::fork(|| 0)?.wait();
    ended.map_err(|how| CaseError::Failed(format!("a process that does nothing: {how}")))
}

impl fmt::Debug for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Architecture {
    /// The architecture named `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ARCHITECTURES.iter().find(|architecture| architecture.name == name)
    }

    /// Tries what the architecture needs of the system.
    ///
    /// # Errors
    /// `Unsupported` if this system lacks it, or denies it to this process; `Failed` for a shortage.
    pub fn check(&self) -> Result<(), CaseError> {
        match self.serve {
            Ok(_) => (self.needs)(),
            Err(why) => Err(CaseError::Unsupported(why.to_owned())),
        }
    }

    /// Why no system of this kind has the architecture; `None` if there are such systems.
    pub fn missing_here(&self) -> Option<&'static str> {
        self.serve.err()
    }

    /// Whether one thread serves all clients: more CPUs do not help.
    pub fn is_one_event_loop(&self) -> bool {
        let loops =
            ["select", "poll", "wsapoll", "epoll", "epoll-level", "kqueue", "io_uring", "iocp"];
        loops.contains(&self.name)
    }

    /// A server that listens at `address`, but does not serve yet.
    ///
    /// # Errors
    /// This fails as [`Architecture::check`] does, or if the server cannot listen.
    pub fn bind(&self, address: SocketAddr, options: &ServerOptions) -> Result<Server, CaseError> {
        self.check()?;
        let serve = self.serve.map_err(|why| CaseError::Unsupported(why.to_owned()))?;
        Server::bind(address, serve, self.shares_port, options)
    }
}
