//! One thread with kqueue(2): the kernel queues the connections that are ready. The call that waits also changes what is
//! watched.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use platform::CaseError;
use rustix::buffer::spare_capacity;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent, kqueue};
use serving::Acceptor;

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The number of the listener, among those of connections.
const LISTENER: usize = usize::MAX;
/// Maximum number of events of one iteration.
const EVENTS: usize = 512;

/// Checks whether this process may have a queue.
pub fn check() -> Result<(), CaseError> {
    kqueue().map(drop).map_err(|e| CaseError::from_io("kqueue", &e.into()))
}

pub fn serve(server: &Server) -> io::Result<()> {
    let queue = kqueue()?;
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut listening = true;
    let mut changes = vec![change(listener.as_raw_fd(), Wants::Read, EventFlags::ADD, LISTENER)];
    let mut events = Vec::with_capacity(EVENTS);

    while !acceptor.is_closed() || !connections.is_empty() {
        let wait = connections.wait(&acceptor);
        // SAFETY: watched descriptors are open: they are closed after the changes that name them were passed to the
        // kernel, which then does not watch them any more (kqueue(2)).
        match unsafe { kevent(&queue, &changes, spare_capacity(&mut events), wait) } {
            Ok(_) | Err(rustix::io::Errno::INTR) => changes.clear(), // the changes are applied nevertheless
            Err(e) => return Err(e.into()),
        }
        connections.tick(&mut acceptor, |_, _| {});
        let mut has_new = false;
        for event in events.drain(..) {
            let number = event.udata().addr();
            if number == LISTENER {
                has_new = true;
            } else if event.flags().contains(EventFlags::ERROR) {
                // The connection is closed if the kernel has no memory to watch it.
                if connections.stream(number).is_some() {
                    connections.close(number);
                }
            } else {
                match connections.advance(number) {
                    Watch::Closed => acceptor.resume(),
                    Watch::Other(wants) => {
                        let stream = connections.stream(number).expect("still open");
                        changes.extend(swap(stream.as_raw_fd(), wants, number));
                    }
                    Watch::Same => {}
                }
            }
        }
        // New connections come last, so that no event is left of a connection that had the same number or descriptor
        // before.
        if has_new {
            while let Some(stream) = acceptor.accept()? {
                let fd = stream.as_raw_fd();
                if let Some((number, wants)) = connections.begin(stream) {
                    changes.push(change(fd, wants, EventFlags::ADD, number));
                }
            }
        }
        if listening != acceptor.is_open() {
            listening = acceptor.is_open();
            let flags = if listening { EventFlags::ENABLE } else { EventFlags::DISABLE };
            changes.push(change(listener.as_raw_fd(), Wants::Read, flags, LISTENER));
        }
    }
    Ok(())
}

fn change(fd: RawFd, wants: Wants, flags: EventFlags, number: usize) -> Event {
    let filter = if wants == Wants::Write { EventFilter::Write(fd) } else { EventFilter::Read(fd) };
    Event::new(filter, flags, std::ptr::without_provenance_mut(number))
}

/// The changes that watch a connection for `wants` instead of the opposite.
fn swap(fd: RawFd, wants: Wants, number: usize) -> [Event; 2] {
    let before = if wants == Wants::Write { Wants::Read } else { Wants::Write };
    [change(fd, before, EventFlags::DELETE, number), change(fd, wants, EventFlags::ADD, number)]
}
