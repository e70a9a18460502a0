//! One thread, and a queue in the kernel of the connections that have something to tell. What is to be watched
//! otherwise goes with the call that waits.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use rustix::buffer::spare_capacity;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, kevent, kqueue};

use crate::accepting::Acceptor;
use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The number of the listener among those of connections.
const LISTENER: usize = usize::MAX;
/// Events taken in one turn.
const EVENTS: usize = 512;

pub fn serve(server: &Server) -> io::Result<()> {
    let queue = kqueue()?;
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server, listener)?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut listening = true;
    let mut changes = vec![change(listener.as_raw_fd(), Wants::Read, EventFlags::ADD, LISTENER)];
    let mut events = Vec::with_capacity(EVENTS);

    while !acceptor.is_closed() || !connections.is_empty() {
        let wait = connections.wait(&acceptor);
        // SAFETY: descriptors that are watched are open: who is closed is closed after the changes that name
        // it were handed over, and the kernel then watches it no more (kqueue(2)).
        match unsafe { kevent(&queue, &changes, spare_capacity(&mut events), wait) } {
            Ok(_) | Err(rustix::io::Errno::INTR) => changes.clear(), // they are made all the same
            Err(e) => return Err(e.into()),
        }
        connections.tick(&mut acceptor, |_, _| {});
        let mut has_new = false;
        for event in events.drain(..) {
            let number = event.udata().addr();
            if number == LISTENER {
                has_new = true;
            } else if event.flags().contains(EventFlags::ERROR) {
                // Without room to watch one more it is closed; the client sees that.
                if connections.stream(number).is_some() {
                    connections.close(number);
                }
            } else {
                match connections.advance(number) {
                    Watch::Gone => acceptor.resume(),
                    Watch::Other(wants) => {
                        let stream = connections.stream(number).expect("still open");
                        changes.extend(swap(stream.as_raw_fd(), wants, number));
                    }
                    Watch::Same => {}
                }
            }
        }
        // Last, so that no event is left of who had the number or the descriptor of a new one before.
        if has_new && acceptor.is_open() {
            acceptor.accept(|stream| {
                let fd = stream.as_raw_fd();
                if let Some((number, wants)) = connections.begin(stream) {
                    changes.push(change(fd, wants, EventFlags::ADD, number));
                }
            })?;
        }
        if listening != acceptor.is_open() {
            listening = acceptor.is_open();
            let how = if listening { EventFlags::ENABLE } else { EventFlags::DISABLE };
            changes.push(change(listener.as_raw_fd(), Wants::Read, how, LISTENER));
        }
    }
    Ok(())
}

fn change(fd: RawFd, wants: Wants, how: EventFlags, number: usize) -> Event {
    let filter = if wants == Wants::Write { EventFilter::Write(fd) } else { EventFilter::Read(fd) };
    Event::new(filter, how, std::ptr::without_provenance_mut(number))
}

/// Has a connection watched for what it wants now, instead of the opposite.
fn swap(fd: RawFd, wants: Wants, number: usize) -> [Event; 2] {
    let before = if wants == Wants::Write { Wants::Read } else { Wants::Write };
    [change(fd, before, EventFlags::DELETE, number), change(fd, wants, EventFlags::ADD, number)]
}
