//! The parts of a server that do not depend on its architecture: sockets, options and counters.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use platform::CaseError;
use platform::memory::shared::Shared;
use platform::socket::server::{Listening, listen, not_listening};
use serving::{AcceptContext, BlockingAcceptor, Protocol, Shortages, Stop};

use crate::work::Task;

/// The function of an architecture, which serves until the stop is requested.
pub(crate) type Serve = fn(&Server) -> io::Result<()>;

/// Options of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// The server's protocol.
    pub protocol: Protocol,
    /// Time limit for a client to send a whole request, and to receive a reply.
    pub timeout: Duration,
    /// Number of threads or processes, where these are started in advance.
    pub workers: usize,
    /// The CPUs that the server runs on.
    pub cpus: Vec<usize>,
    /// Arguments with which this program calls `exec::serve_stdio`, for the architecture `exec`.
    pub stdio_arguments: Vec<String>,
    /// The work for each request.
    pub task: Task,
    /// Additional memory of the server in bytes, like an application's; forked processes share it.
    pub memory: usize,
    /// Maximum length of the accept queue; `None` for the system's limit.
    pub backlog: Option<u16>,
}

/// A listening server.
pub struct Server {
    serve: Serve,
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) address: SocketAddr,
    pub(crate) workers: usize,
    pub(crate) cpus: Vec<usize>,
    #[allow(dead_code, reason = "read on Unix only")]
    pub(crate) stdio_arguments: Vec<String>,
    pub(crate) terms: Terms,
    /// The additional memory.
    _memory: Vec<u8>,
}

/// State that all threads and processes of a server share.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub protocol: Protocol,
    pub timeout: Duration,
    pub stop: Stop,
    pub counters: Shared<Counters>,
    pub task: Arc<Task>,
}

impl Terms {
    pub fn new(protocol: Protocol, timeout: Duration, task: Task) -> Result<Self, CaseError> {
        let counters = Shared::new(Counters::default())?;
        Ok(Self { protocol, timeout, stop: Stop::new()?, counters, task: Arc::new(task) })
    }

    /// Does the work for one request; counts a failure.
    pub fn work(&self) {
        if self.task.perform().is_err() {
            self.counters.work_failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a timeout if `error`, with which a client's connection ended, means one.
    pub fn note_error(&self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            self.note_timed_out();
        }
    }

    /// The context for accepting connections.
    pub fn accepting(&self) -> AcceptContext<'static> {
        AcceptContext {
            stop: self.stop,
            clients_send_first: self.protocol.client_sends_first(),
            shortages: &self.counters.get().shortages,
        }
    }

    pub fn note_timed_out(&self) {
        self.counters.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

impl Server {
    pub(crate) fn bind(
        address: SocketAddr,
        serve: Serve,
        shared_port: bool,
        options: &ServerOptions,
    ) -> Result<Self, CaseError> {
        let client_sends_first = options.protocol.client_sends_first();
        let listening = Listening { shared_port, client_sends_first, backlog: options.backlog };
        let open = |at| listen(at, listening).map_err(|e| not_listening(at, &e));
        let mut listeners = vec![open(address)?];
        let bound = listeners[0]
            .local_addr()
            .map_err(|e| CaseError::from_io("getsockname of the listener", &e))?;
        while shared_port && listeners.len() < options.cpus.len() {
            listeners.push(open(bound)?);
        }
        Ok(Self {
            serve,
            listeners,
            address: bound,
            workers: options.workers.max(1),
            cpus: options.cpus.clone(),
            stdio_arguments: options.stdio_arguments.clone(),
            terms: Terms::new(options.protocol, options.timeout, options.task.clone())?,
            // The memory is written to, so that the system provides it.
            _memory: vec![1; options.memory],
        })
    }

    /// Serves until the stop is requested, and then until the remaining connections have ended or timed out.
    ///
    /// # Errors
    /// If the server cannot continue. The failure of one connection is not an error.
    pub fn serve(&self) -> io::Result<()> {
        (self.serve)(self)
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts from the only listener by blocking calls.
    pub(crate) fn accept_blocking(&self) -> BlockingAcceptor<'_> {
        BlockingAcceptor::new(self.terms.accepting(), &self.listeners[0])
    }

    /// A handle that stops the server from another thread.
    pub fn stop(&self) -> Stop {
        self.terms.stop
    }

    /// The server's counters.
    pub fn counters(&self) -> Shared<Counters> {
        self.terms.counters
    }
}

/// Timeouts and shortages, counted by all processes of a server.
#[derive(Debug, Default)]
pub struct Counters {
    /// Number of connections closed because the client timed out.
    pub timed_out: AtomicU64,
    /// Shortages of descriptors and memory.
    pub shortages: Shortages,
    /// Number of times that no process or thread could be started for a connection.
    pub no_process: AtomicU64,
    /// Number of times that the work for a request failed.
    pub work_failed: AtomicU64,
}

impl Counters {
    /// Counts a connection for which a descriptor set or table has no room.
    pub(crate) fn note_no_descriptor(&self) {
        self.shortages.no_descriptor.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_no_process(&self) {
        self.no_process.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::mpsc;

    use super::*;
    use crate::ARCHITECTURES;

    /// The address of the stop refuses all connections, as that of a server does without loopback. Processes are not forked here:
    /// other threads of the test may hold locks.
    #[test]
    fn every_server_with_one_process_stops_without_a_connection() {
        let options = ServerOptions {
            protocol: Protocol::HTTP,
            timeout: Duration::from_secs(60),
            workers: 3,
            cpus: platform::cpu::allowed(),
            stdio_arguments: Vec::new(),
            task: Task::None,
            memory: 0,
            backlog: None,
        };
        let any_port = (Ipv4Addr::LOCALHOST, 0).into();
        let nobody = TcpListener::bind(any_port).and_then(|it| it.local_addr()).unwrap();
        let forking = ["fork", "prefork", "exec"];
        let here = ARCHITECTURES.iter().filter(|one| !forking.contains(&one.name));
        for architecture in here.filter(|one| one.check().is_ok()) {
            let server = architecture.bind(any_port, &options).unwrap();
            let stop = server.stop();
            let (ended_tx, ended_rx) = mpsc::channel();
            std::thread::spawn(move || ended_tx.send(server.serve().is_ok()));
            while !stop.is_any_waiting() {
                std::thread::yield_now();
            }
            stop.request_and_wake(nobody);
            let ended = ended_rx.recv_timeout(Duration::from_secs(60));
            assert_eq!(ended, Ok(true), "{}", architecture.name);
        }
    }
}
