//! As many event loops as CPUs, each a thread with a listener of its own on the same port: the kernel shares
//! connections out among them.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use platform::cpu::pin_thread;
use platform::socket::stop_listening;

use super::connection::Reading;
use super::{Server, epoll};

pub fn serve(server: &Server) -> io::Result<()> {
    serve_by(server, |listener, queue| epoll::run(server, listener, queue, Reading::UntilEmpty))
}

/// Runs `event_loop` on each CPU. The first that fails ends all.
fn serve_by(
    server: &Server,
    event_loop: impl Fn(&TcpListener, &OwnedFd) -> io::Result<()> + Copy + Send,
) -> io::Result<()> {
    // All before any loop accepts: one that begins early could leave no descriptor for another's.
    let queues = server.listeners.iter().map(|_| epoll::queue()).collect::<io::Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let mut loops = Vec::new();
        for ((listener, queue), &cpu) in server.listeners.iter().zip(&queues).zip(&server.cpus) {
            let ends_all = EndsAll { server, listener };
            let one = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _ends_all = ends_all;
                // Where threads cannot be placed, the system places them.
                let _ = pin_thread(cpu);
                event_loop(listener, queue)
            });
            loops.push(one?);
        }
        loops.into_iter().try_for_each(|one| one.join().expect("a loop does not panic"))
    })
}

/// Has the whole server end when one loop has, for whatever reason, or cannot begin: the kernel would go on giving
/// clients to its listener, who would wait there for ever.
struct EndsAll<'a> {
    server: &'a Server,
    listener: &'a TcpListener,
}

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        stop_listening(self.listener);
        self.server.terms.stop.request(self.server.address);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpStream};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::Protocol;
    use crate::serve::{Architecture, Plan};

    /// Longer than anything here takes.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[test]
    fn a_loop_that_fails_ends_all_and_leaves_nobody_waiting() {
        let architecture = Architecture::find("epoll-per-cpu").unwrap();
        let timeout = Duration::from_secs(1);
        let (protocol, cpus) = (Protocol::TOO_BUSY, vec![0, 0, 0]);
        let plan = Plan { protocol, timeout, workers: 1, cpus, stdio_arguments: Vec::new() };
        let server = architecture.bind((Ipv4Addr::LOCALHOST, 0).into(), &plan).unwrap();
        let address = server.address();
        // Some for each listener: that one has none comes once in 10^10 times.
        let clients: Vec<_> = (0..60).map(|_| TcpStream::connect(address).unwrap()).collect();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            let ending = serve_by(&server, |listener, queue| {
                if std::ptr::eq(listener, &server.listeners[1]) {
                    return Err(io::Error::other("the second cannot go on"));
                }
                epoll::run(&server, listener, queue, Reading::UntilEmpty)
            });
            let _ = ended.send(ending.map_err(|error| error.to_string()));
            // The listeners stay open: who is told by then was told by the loops.
            std::thread::sleep(2 * DEADLINE);
        });
        let ending = end.recv_timeout(DEADLINE).expect("the server ends");
        assert_eq!(ending.unwrap_err(), "the second cannot go on");
        for mut client in clients {
            client.set_read_timeout(Some(DEADLINE)).unwrap();
            let waits = |e: io::Error| e.kind() == io::ErrorKind::WouldBlock;
            assert!(!client.read_to_end(&mut Vec::new()).is_err_and(waits), "a client waits");
        }
        assert!(TcpStream::connect(address).is_err(), "somebody still listens");
    }
}
