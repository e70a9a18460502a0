//! An event loop for each CPU: a thread with its own listener on the same port, among which the kernel distributes
//! connections.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use platform::CaseError;
use platform::cpu::pin_thread;
use platform::socket::server::stop_listening;

use super::epoll;
use crate::connection::Reading;
use crate::server::Server;

/// Checks whether this process may have queues and threads.
pub fn check() -> Result<(), CaseError> {
    super::threads().and_then(|()| epoll::check())
}

pub fn serve(server: &Server) -> io::Result<()> {
    serve_by(server, |listener, queue| epoll::run(server, listener, queue, Reading::UntilEmpty))
}

/// Runs `event_loop` on each CPU. The first failure stops all loops.
fn serve_by(
    server: &Server,
    event_loop: impl Fn(&TcpListener, &OwnedFd) -> io::Result<()> + Copy + Send,
) -> io::Result<()> {
    // All queues are created before any loop accepts: its connections could leave no descriptor for another queue.
    let queues = server.listeners.iter().map(|_| epoll::queue()).collect::<io::Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let mut loops = Vec::new();
        for ((listener, queue), &cpu) in server.listeners.iter().zip(&queues).zip(&server.cpus) {
            let stop_on_exit = StopOnExit { server, listener };
            let one = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _stop_on_exit = stop_on_exit;
                // Where the thread cannot be pinned, the system schedules it.
                let _ = pin_thread(cpu);
                event_loop(listener, queue)
            });
            loops.push(one?);
        }
        loops.into_iter().try_for_each(|one| one.join().expect("a loop does not panic"))
    })
}

/// Stops the whole server when a loop ends, for any reason, or cannot begin: clients that the kernel assigns to the loop's
/// listener would wait for ever.
struct StopOnExit<'a> {
    server: &'a Server,
    listener: &'a TcpListener,
}

impl Drop for StopOnExit<'_> {
    fn drop(&mut self) {
        stop_listening(self.listener);
        self.server.terms.stop.request_and_wake(self.server.address);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpStream};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::{Architecture, Protocol, ServerOptions, Task};

    /// Time limit for every step of the test.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[test]
    fn a_loop_that_fails_stops_all_and_no_client_waits() {
        let architecture = Architecture::find("epoll-per-cpu").unwrap();
        let timeout = Duration::from_secs(1);
        let protocol = Protocol::TOO_BUSY;
        let options = ServerOptions {
            protocol,
            timeout,
            workers: 1,
            cpus: vec![0, 0, 0],
            stdio_arguments: Vec::new(),
            task: Task::None,
            memory: 0,
            backlog: None,
        };
        let server = architecture.bind((Ipv4Addr::LOCALHOST, 0).into(), &options).unwrap();
        let address = server.address();
        // The number of clients is such that some listener gets none with a probability of 10^-10.
        let clients: Vec<_> = (0..60).map(|_| TcpStream::connect(address).unwrap()).collect();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            let ending = serve_by(&server, |listener, queue| {
                if std::ptr::eq(listener, &server.listeners[1]) {
                    return Err(io::Error::other("the second fails"));
                }
                epoll::run(&server, listener, queue, Reading::UntilEmpty)
            });
            let _ = ended.send(ending.map_err(|error| error.to_string()));
            // The listeners stay open, so that only the loops can have closed the clients' connections.
            loop {
                std::thread::park();
            }
        });
        let ending = end.recv_timeout(DEADLINE).expect("the server ends");
        assert_eq!(ending.unwrap_err(), "the second fails");
        for mut client in clients {
            client.set_read_timeout(Some(DEADLINE)).unwrap();
            let waits = |e: io::Error| e.kind() == io::ErrorKind::WouldBlock;
            assert!(!client.read_to_end(&mut Vec::new()).is_err_and(waits), "a client still waits");
        }
        assert!(TcpStream::connect(address).is_err(), "it still listens");
    }
}
