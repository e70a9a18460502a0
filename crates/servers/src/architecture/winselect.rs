//! One thread, and lists of sockets, which have room for 1024. On Windows a set for select is no row of bits
//! but a number and so many sockets. The call goes by the number: how many there is room for is the
//! program's affair (`FD_SETSIZE`, 64 where a program says nothing). Here it is as much as elsewhere.

use std::io;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    FD_SET, SOCKET, SOCKET_ERROR, TIMEVAL, WSAGetLastError, select,
};

use crate::accepting::{Acceptor, BURST_AT_MOST};
use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// Sockets in a set.
const SET: usize = 1024;
/// With so many connections no more are accepted: the listener is in the set too, and a turn may accept a burst.
const ROOM: usize = SET - BURST_AT_MOST - 1;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server, listener)?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut read = Sockets::default();
    let mut write = Sockets::default();
    let mut ready = Vec::new();

    while !acceptor.is_closed() || !connections.is_empty() {
        let has_room = connections.len() < ROOM;
        if !has_room && acceptor.is_open() {
            server.terms.counters.note_no_descriptor();
        }
        // The call leaves those that are ready: the sets are made anew for each.
        read.clear();
        write.clear();
        if has_room && acceptor.is_open() {
            read.add(listener);
        }
        for (_, stream, wants) in connections.iter() {
            if wants == Wants::Write { write.add(stream) } else { read.add(stream) }
        }
        wait_for(&mut read, &mut write, connections.wait(&acceptor))?;
        connections.tick(&mut acceptor, |_, _| {});

        // Which of the connections they are is found by going through all.
        let is_ready = |stream, wants| match wants {
            Wants::Write => write.has(stream),
            Wants::Read | Wants::Close => read.has(stream),
        };
        let all = connections.iter();
        ready.extend(
            all.filter_map(|(number, stream, wants)| is_ready(stream, wants).then_some(number)),
        );
        for number in ready.drain(..) {
            if connections.advance(number) == Watch::Gone {
                acceptor.resume();
            }
        }
        if read.has(listener) && acceptor.is_open() {
            acceptor.accept(|stream| {
                connections.begin(stream); // the next call's sets have it, if it is kept
            })?;
        }
    }
    Ok(())
}

/// `FD_SET` with room for more.
#[repr(C)]
struct Set {
    count: u32,
    sockets: [SOCKET; SET],
}

/// The sockets to watch, or those that are ready, in order.
struct Sockets(Box<Set>);

impl Default for Sockets {
    fn default() -> Self {
        Self(Box::new(Set { count: 0, sockets: [0; SET] }))
    }
}

impl Sockets {
    fn clear(&mut self) {
        self.0.count = 0;
    }

    fn add(&mut self, socket: &impl AsRawSocket) {
        self.0.sockets[self.0.count as usize] = socket.as_raw_socket() as SOCKET;
        self.0.count += 1;
    }

    fn all(&self) -> &[SOCKET] {
        &self.0.sockets[..self.0.count as usize]
    }

    fn has(&self, socket: &impl AsRawSocket) -> bool {
        self.all().binary_search(&(socket.as_raw_socket() as SOCKET)).is_ok()
    }

    fn sort(&mut self) {
        self.0.sockets[..self.0.count as usize].sort_unstable();
    }

    /// As the call takes it; nothing where it is empty.
    fn as_fd_set(&mut self) -> *mut FD_SET {
        if self.0.count == 0 { std::ptr::null_mut() } else { (&raw mut *self.0).cast() }
    }
}

/// Waits until some are ready, and leaves only these in the sets.
fn wait_for(read: &mut Sockets, write: &mut Sockets, wait: Option<Duration>) -> io::Result<()> {
    if read.all().is_empty() && write.all().is_empty() {
        // The call refuses that. After a shortage: nobody is served, nobody is to be accepted yet.
        std::thread::sleep(wait.unwrap_or_default());
        return Ok(());
    }
    let time = wait.map(|wait| {
        let us = wait.as_nanos().div_ceil(1_000);
        TIMEVAL { tv_sec: (us / 1_000_000) as i32, tv_usec: (us % 1_000_000) as i32 }
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let no_errors = std::ptr::null_mut();
    // SAFETY: the sets have as many sockets as they say, and like the time are only used during the call.
    match unsafe { select(0, read.as_fd_set(), write.as_fd_set(), no_errors, time) } {
        // SAFETY: reads a value of this thread.
        SOCKET_ERROR => Err(io::Error::from_raw_os_error(unsafe { WSAGetLastError() })),
        _ => {
            read.sort();
            write.sort();
            Ok(())
        }
    }
}
