//! One thread with select(2): the kernel scans a bit for each descriptor, in sets of 1024.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use serving::{Acceptor, BURST_AT_MOST};

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// Maximum number of connections: some descriptors are needed for other purposes, and an iteration may accept a burst.
const ROOM: usize = libc::FD_SETSIZE - BURST_AT_MOST - 32;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut watched = Bits::default();
    let mut ready = Vec::new();

    while !acceptor.is_closed() || !connections.is_empty() {
        if connections.len() >= ROOM && acceptor.is_open() {
            acceptor.pause(&io::Error::from_raw_os_error(libc::EMFILE));
        }
        watched.set(listener.as_raw_fd(), Wants::Read, acceptor.is_open());
        let now_ready = watched.select(connections.wait(&acceptor))?;
        connections.tick(&mut acceptor, |_, stream| watched.forget(stream.as_raw_fd()));

        // A scan of all connections finds the ready ones, as in the kernel.
        let is_ready = |(number, fd, wants)| now_ready.has(fd, wants).then_some((number, fd));
        let all =
            connections.iter().map(|(number, stream, wants)| (number, stream.as_raw_fd(), wants));
        ready.extend(all.filter_map(is_ready));
        for (number, fd) in ready.drain(..) {
            match connections.advance(number) {
                Watch::Closed => {
                    watched.forget(fd);
                    acceptor.resume();
                }
                Watch::Other(wants) => watched.watch(fd, wants),
                Watch::Same => {}
            }
        }
        if now_ready.has(listener.as_raw_fd(), Wants::Read) {
            while let Some(stream) = acceptor.accept()? {
                let fd = stream.as_raw_fd();
                if fd as usize >= libc::FD_SETSIZE {
                    server.terms.counters.note_no_descriptor();
                } else if let Some((_, wants)) = connections.begin(stream) {
                    watched.watch(fd, wants);
                }
            }
        }
    }
    Ok(())
}

/// The descriptors to watch, or those that are ready.
#[derive(Clone, Copy)]
struct Bits {
    read: libc::fd_set,
    write: libc::fd_set,
    /// One more than the highest descriptor that was ever watched.
    end: libc::c_int,
}

impl Default for Bits {
    fn default() -> Self {
        // SAFETY: all bits zero is the empty set (select(2): FD_ZERO).
        let none = unsafe { std::mem::zeroed() };
        Self { read: none, write: none, end: 0 }
    }
}

impl Bits {
    fn watch(&mut self, fd: libc::c_int, wants: Wants) {
        self.set(fd, Wants::Read, wants == Wants::Read);
        self.set(fd, Wants::Write, wants == Wants::Write);
    }

    fn forget(&mut self, fd: libc::c_int) {
        self.set(fd, Wants::Read, false);
        self.set(fd, Wants::Write, false);
    }

    fn set(&mut self, fd: libc::c_int, wants: Wants, watched: bool) {
        assert!((fd as usize) < libc::FD_SETSIZE, "checked when it was accepted");
        let set = if wants == Wants::Write { &mut self.write } else { &mut self.read };
        // SAFETY: the descriptor's bit lies within the set.
        unsafe { if watched { libc::FD_SET(fd, set) } else { libc::FD_CLR(fd, set) } }
        self.end = self.end.max(fd + 1);
    }

    fn has(&self, fd: libc::c_int, wants: Wants) -> bool {
        let set = if wants == Wants::Write { &self.write } else { &self.read };
        // SAFETY: only descriptors within the set are watched.
        unsafe { libc::FD_ISSET(fd, set) }
    }

    /// Waits until some descriptors are ready, and returns these.
    fn select(&self, wait: Option<Duration>) -> io::Result<Self> {
        let mut ready = *self;
        let mut time = wait.map(|wait| {
            let us = wait.as_nanos().div_ceil(1_000);
            libc::timeval {
                tv_sec: (us / 1_000_000) as libc::time_t,
                tv_usec: (us % 1_000_000) as libc::suseconds_t,
            }
        });
        let time = time.as_mut().map_or(std::ptr::null_mut(), |time| time as *mut libc::timeval);
        let no_errors = std::ptr::null_mut();
        // SAFETY: both sets and the time are valid during the call, and all descriptors lie within the sets.
        match unsafe { libc::select(self.end, &mut ready.read, &mut ready.write, no_errors, time) }
        {
            -1 => {
                let error = io::Error::last_os_error();
                let interrupted = error.kind() == io::ErrorKind::Interrupted;
                if interrupted { Ok(Self::default()) } else { Err(error) }
            }
            _ => Ok(ready),
        }
    }
}
