//! Accepting in threads and processes that block in accept(2).

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use platform::process::interrupts::Interruptible;
use platform::socket::server::{accept_or_interrupt, stop_listening};
use platform::socket::transfer::is_shortage;

use crate::accept::{AcceptContext, Drain, PAUSE, is_of_one_connection};
use crate::stop::Waiter;

/// Iterates over connections accepted by blocking calls, until the stop is requested and the accept queue is drained.
/// Several threads and processes may accept from the same listener, each with its own iterator.
#[derive(Debug)]
pub struct BlockingAcceptor<'a> {
    context: AcceptContext<'a>,
    waiter: Waiter,
    listener: &'a TcpListener,
    drain: Option<Drain>,
    /// Whether all others have left the rest of the queue to this one.
    is_last: bool,
}

impl<'a> BlockingAcceptor<'a> {
    /// Accepts from `listener`, in the calling thread.
    pub fn new(context: AcceptContext<'a>, listener: &'a TcpListener) -> Self {
        let waiter = context.stop.waiter(Some(Interruptible::accepting(listener)));
        Self { context, waiter, listener, drain: None, is_last: false }
    }

    /// Waits for a connection; `None` if the stop is requested.
    fn wait(&self) -> Option<io::Result<TcpStream>> {
        self.waiter.begin_wait();
        let is_requested = self.context.stop.is_requested();
        let accepted = (!is_requested).then(|| accept_or_interrupt(self.listener));
        self.waiter.end_wait();
        accepted
    }

    fn begin_to_drain(&mut self) -> io::Result<()> {
        self.context.stop.begin_to_drain();
        self.drain = Some(Drain::begin([self.listener], &self.context));
        self.listener.set_nonblocking(true)
    }

    fn pause(&self, shortage: &io::Error) {
        self.context.shortages.note(shortage);
        sleep(PAUSE);
    }

    /// A pending connection; `None` if none is left.
    fn accept_pending(&mut self, drain: Drain) -> Option<io::Result<TcpStream>> {
        let mut is_drained = false;
        loop {
            if drain.is_cut_off() {
                stop_listening(self.listener);
                return None;
            }
            match self.listener.accept() {
                Ok((stream, _)) => return Some(stream.set_nonblocking(false).map(|()| stream)),
                Err(e) if is_shortage(&e) => self.pause(&e),
                // The queue is empty, or another thread or process has shut the listener down.
                Err(_) if is_drained => {
                    stop_listening(self.listener);
                    return None;
                }
                Err(_) if Instant::now() < drain.accept_until => sleep(PAUSE),
                Err(_) if !self.is_last && self.context.stop.leave_drain() => return None,
                Err(_) => {
                    self.is_last = true;
                    is_drained = !drain.may_arrive(self.listener);
                    if !is_drained {
                        sleep(PAUSE);
                    }
                }
            }
        }
    }
}

impl Iterator for BlockingAcceptor<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(drain) = self.drain {
                return self.accept_pending(drain);
            }
            match self.wait() {
                None => {
                    if let Err(e) = self.begin_to_drain() {
                        return Some(Err(e));
                    }
                }
                Some(Ok(stream)) => return Some(Ok(stream)),
                // Wine returns this error if another thread accepted the connection.
                Some(Err(e)) if e.kind() == ErrorKind::WouldBlock => {
                    sleep(Duration::from_millis(1));
                }
                Some(Err(e)) if is_shortage(&e) => self.pause(&e),
                Some(Err(e)) if is_of_one_connection(&e) => {}
                Some(Err(e)) => return Some(Err(e)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::accept::Shortages;
    use crate::acceptor::Acceptor;
    use crate::stop::Stop;

    #[cfg(unix)]
    fn wait_without_sockets(wait: Option<Duration>) {
        let ms = wait.map_or(-1, |wait| wait.as_millis() as libc::c_int + 1);
        // SAFETY: no descriptors.
        unsafe { libc::poll(std::ptr::null_mut(), 0, ms) };
    }

    #[cfg(not(unix))]
    fn wait_without_sockets(wait: Option<Duration>) {
        sleep(wait.expect("a wait that cannot be interrupted is limited"));
    }

    /// Threads that accept, and an event loop, end although no connection can wake them: the address refuses all.
    #[test]
    fn a_stop_needs_no_connection() {
        let stop = Stop::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).unwrap();
        let shortages = Shortages::default();
        let context = AcceptContext { stop, clients_send_first: false, shortages: &shortages };
        let (ready_tx, ready_rx) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (ready, listener) = (ready_tx.clone(), &listener);
                scope.spawn(move || {
                    let connections = BlockingAcceptor::new(context, listener);
                    ready.send(()).unwrap();
                    assert_eq!(connections.count(), 0);
                });
            }
            let ready = ready_tx.clone();
            scope.spawn(move || {
                let mut acceptor = Acceptor::without_accept(context, []);
                ready.send(()).unwrap();
                while !acceptor.is_closed() {
                    let now = Instant::now();
                    let wait = acceptor.wakes_at().map(|at| at.saturating_duration_since(now));
                    wait_without_sockets(wait);
                    acceptor.tick(Instant::now());
                }
            });
            (0..4).for_each(|_| ready_rx.recv().unwrap());
            stop.request_and_wake(nobody);
        });
    }
}
