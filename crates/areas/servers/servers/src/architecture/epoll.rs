//! One thread with epoll(7): the kernel queues the connections that are ready.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use platform::CaseError;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::Timespec;
use serving::Acceptor;

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The number of the listener, among those of connections.
const LISTENER: u64 = u64::MAX;
/// Maximum number of events of one iteration.
const EVENTS: usize = 512;

/// Checks whether this process may have a queue.
pub fn check() -> Result<(), CaseError> {
    queue().map(drop).map_err(|e| CaseError::from_io("epoll_create1", &e))
}

/// Serves by a level-triggered queue.
pub fn serve_level(server: &Server) -> io::Result<()> {
    run(server, &server.listeners[0], &queue()?, Reading::Once)
}

/// Serves by an edge-triggered queue.
pub fn serve_edge(server: &Server) -> io::Result<()> {
    run(server, &server.listeners[0], &queue()?, Reading::UntilEmpty)
}

/// Creates an empty queue.
pub fn queue() -> io::Result<OwnedFd> {
    Ok(epoll::create(CreateFlags::CLOEXEC)?)
}

/// Runs the event loop: serves the clients of `listener` until the server has stopped.
pub fn run(
    server: &Server,
    listener: &TcpListener,
    epoll: &OwnedFd,
    reading: Reading,
) -> io::Result<()> {
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, reading);
    epoll::add(epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut listening = true; // if false the listener is not watched, since hang-ups are always reported
    let mut events = Vec::with_capacity(EVENTS);
    let mut to_send = Vec::with_capacity(EVENTS); // connections with a reply to send
    // A reply must not wait for the work of other requests.
    let replies_wait = server.terms.task.is_none();

    while !acceptor.is_closed() || !connections.is_empty() {
        let wait = connections.wait(&acceptor).map(up_to_ms);
        match epoll::wait(epoll, spare_capacity(&mut events), wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        connections.tick(&mut acceptor, |_, _| {}); // the system does not watch a closed socket any more
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => {
                    while let Some(stream) = acceptor.accept()? {
                        let Some((number, wants)) = connections.begin(stream) else { continue };
                        let stream = connections.stream(number).expect("just begun");
                        let data = EventData::new_u64(number as u64);
                        // The connection is closed if the kernel has no memory to watch it.
                        if epoll::add(epoll, stream, data, flags(wants, reading)).is_err() {
                            connections.close(number);
                        }
                    }
                }
                number => {
                    let number = number as usize;
                    let is_due = connections.receive(number, reading_of(reading, event.flags));
                    match is_due {
                        true if replies_wait => to_send.push(number),
                        true => send(&mut connections, number, &mut acceptor, epoll, reading)?,
                        false => {}
                    }
                }
            }
        }
        for number in to_send.drain(..) {
            send(&mut connections, number, &mut acceptor, epoll, reading)?;
        }
        if listening != acceptor.is_open() {
            listening = acceptor.is_open();
            if listening {
                epoll::add(epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
            } else {
                epoll::delete(epoll, listener)?;
            }
        }
    }
    Ok(())
}

/// Sends the reply of a connection, or closes it, and changes its watch accordingly.
fn send(
    connections: &mut Connections,
    number: usize,
    acceptor: &mut Acceptor,
    epoll: &OwnedFd,
    reading: Reading,
) -> io::Result<()> {
    match connections.send(number) {
        Watch::Closed => acceptor.resume(),
        Watch::Other(wants) if reading == Reading::Once => {
            let stream = connections.stream(number).expect("still open");
            let data = EventData::new_u64(number as u64);
            epoll::modify(epoll, stream, data, flags(wants, reading))?;
        }
        Watch::Other(_) | Watch::Same => {}
    }
    Ok(())
}

fn flags(wants: Wants, reading: Reading) -> EventFlags {
    match (reading, wants) {
        (Reading::UntilEmpty | Reading::UntilEnd, _) => {
            EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET
        }
        (Reading::Once, Wants::Write) => EventFlags::OUT,
        (Reading::Once, _) => EventFlags::IN,
    }
}

/// How a connection is to be read. The end of a stream is reported once, maybe together with data before it.
fn reading_of(reading: Reading, reported: EventFlags) -> Reading {
    match reading {
        Reading::UntilEmpty if reported.intersects(EventFlags::RDHUP | EventFlags::HUP) => {
            Reading::UntilEnd
        }
        reading => reading,
    }
}

/// The wait in whole ms, rounded up: a loop that wakes too early would do an iteration in vain.
fn up_to_ms(wait: std::time::Duration) -> Timespec {
    let ms = wait.as_nanos().div_ceil(1_000_000) as i64;
    Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 }
}
