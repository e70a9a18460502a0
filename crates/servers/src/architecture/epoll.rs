//! One thread, and a queue in the kernel of the connections that have something to tell.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::Timespec;

use crate::accepting::Acceptor;
use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The number of the listener among those of connections.
const LISTENER: u64 = u64::MAX;
/// Events taken in one turn.
const EVENTS: usize = 512;

/// Told again and again while there is something.
pub fn serve_level(server: &Server) -> io::Result<()> {
    run(server, &server.listeners[0], &queue()?, Reading::Once)
}

/// Told once of what is new.
pub fn serve_edge(server: &Server) -> io::Result<()> {
    run(server, &server.listeners[0], &queue()?, Reading::UntilEmpty)
}

/// The queue of a loop, empty.
pub fn queue() -> io::Result<OwnedFd> {
    Ok(epoll::create(CreateFlags::CLOEXEC)?)
}

/// The loop: serves those who connect to `listener` until the server has stopped.
pub fn run(
    server: &Server,
    listener: &TcpListener,
    epoll: &OwnedFd,
    reading: Reading,
) -> io::Result<()> {
    let mut acceptor = Acceptor::new(server, listener)?;
    let mut connections = Connections::new(server, reading);
    epoll::add(epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut listening = true; // else it is not watched: an end is told of whatever one asks for
    let mut events = Vec::with_capacity(EVENTS);
    let mut to_say = Vec::with_capacity(EVENTS); // connections to which something is to be said

    while !acceptor.is_closed() || !connections.is_empty() {
        let wait = connections.wait(&acceptor).map(up_to_ms);
        match epoll::wait(epoll, spare_capacity(&mut events), wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        connections.tick(&mut acceptor, |_, _| {}); // a closed socket is watched no more
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER if !acceptor.is_open() => {} // closed just now
                LISTENER => acceptor.accept(|stream| {
                    if let Some((number, wants)) = connections.begin(stream) {
                        let stream = connections.stream(number).expect("just begun");
                        let data = EventData::new_u64(number as u64);
                        // Without room for one more it is closed; the client sees that.
                        if epoll::add(epoll, stream, data, flags(wants, reading)).is_err() {
                            connections.close(number);
                        }
                    }
                })?,
                number => {
                    let number = number as usize;
                    if connections.take_in(number, reading_of(reading, event.flags)) {
                        to_say.push(number);
                    }
                }
            }
        }
        for number in to_say.drain(..) {
            match connections.say(number) {
                Watch::Gone => acceptor.resume(),
                Watch::Other(wants) if reading == Reading::Once => {
                    let stream = connections.stream(number).expect("still open");
                    let data = EventData::new_u64(number as u64);
                    epoll::modify(epoll, stream, data, flags(wants, reading))?;
                }
                Watch::Other(_) | Watch::Same => {}
            }
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

fn flags(wants: Wants, reading: Reading) -> EventFlags {
    match (reading, wants) {
        (Reading::UntilEmpty | Reading::UntilEnd, _) => {
            EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET
        }
        (Reading::Once, Wants::Write) => EventFlags::OUT,
        (Reading::Once, _) => EventFlags::IN,
    }
}

/// The client's end is told of once, maybe together with what it sent before.
fn reading_of(reading: Reading, told: EventFlags) -> Reading {
    match reading {
        Reading::UntilEmpty if told.intersects(EventFlags::RDHUP | EventFlags::HUP) => {
            Reading::UntilEnd
        }
        reading => reading,
    }
}

/// Rounded up: a loop that wakes too early would turn for nothing.
fn up_to_ms(wait: std::time::Duration) -> Timespec {
    let ms = wait.as_nanos().div_ceil(1_000_000) as i64;
    Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 }
}
