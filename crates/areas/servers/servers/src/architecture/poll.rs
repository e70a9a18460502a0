//! One thread with poll(2): the kernel scans a list of all connections in each call.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use serving::Acceptor;

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The descriptor of an unused entry, which the kernel ignores.
const UNUSED: libc::c_int = -1;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, Reading::Once);
    // The listener is the first entry, connection n the one at n + 1.
    let mut watched = vec![entry(UNUSED, Wants::Read)];

    while !acceptor.is_closed() || !connections.is_empty() {
        watched[0].fd = if acceptor.is_open() { listener.as_raw_fd() } else { UNUSED };
        let mut ready = poll(&mut watched, connections.wait(&acceptor))?;
        connections.tick(&mut acceptor, |number, _| watched[number + 1].fd = UNUSED);
        let has_new = watched[0].revents != 0;
        ready -= usize::from(has_new);
        for (number, entry) in watched.iter_mut().skip(1).enumerate() {
            if ready == 0 {
                break;
            }
            if entry.revents == 0 {
                continue;
            }
            ready -= 1;
            match connections.advance(number) {
                Watch::Closed => {
                    entry.fd = UNUSED;
                    acceptor.resume();
                }
                Watch::Other(wants) => entry.events = events(wants),
                Watch::Same => {}
            }
        }
        if has_new {
            while let Some(stream) = acceptor.accept()? {
                watch(&mut connections, &mut watched, stream);
            }
        }
        while watched.len() > 1 && watched.last().is_some_and(|last| last.fd == UNUSED) {
            watched.pop();
        }
    }
    Ok(())
}

fn watch(connections: &mut Connections, watched: &mut Vec<libc::pollfd>, stream: TcpStream) {
    let fd = stream.as_raw_fd();
    if let Some((number, wants)) = connections.begin(stream) {
        if watched.len() < number + 2 {
            watched.resize(number + 2, entry(UNUSED, Wants::Read));
        }
        watched[number + 1] = entry(fd, wants);
    }
}

fn entry(fd: libc::c_int, wants: Wants) -> libc::pollfd {
    libc::pollfd { fd, events: events(wants), revents: 0 }
}

fn events(wants: Wants) -> libc::c_short {
    if wants == Wants::Write { libc::POLLOUT } else { libc::POLLIN }
}

/// Waits until something is ready; returns the number of ready entries.
fn poll(watched: &mut [libc::pollfd], wait: Option<Duration>) -> io::Result<usize> {
    // The wait in whole ms is rounded up: a loop that wakes too early would do an iteration in vain.
    let ms = wait.map_or(-1, |wait| wait.as_nanos().div_ceil(1_000_000) as libc::c_int);
    // SAFETY: the pointer and the length are those of a slice, which is written to only during the call.
    match unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, ms) } {
        -1 => {
            let error = io::Error::last_os_error();
            watched.iter_mut().for_each(|entry| entry.revents = 0);
            if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
        }
        ready => Ok(ready as usize),
    }
}
