//! One thread with select, and lists of up to 1024 sockets. On Windows a set for select is not a bit set but a count and a
//! list of sockets. The program chooses the capacity (`FD_SETSIZE`, 64 by default); here it is that of other systems.

use std::io;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use serving::{Acceptor, BURST_AT_MOST};
use windows_sys::Win32::Networking::WinSock::{
    FD_SET, SOCKET, SOCKET_ERROR, TIMEVAL, WSAGetLastError, select,
};

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// Capacity of a set of sockets.
const SET: usize = 1024;
/// Maximum number of connections: the listener is in the set too, and an iteration may accept a burst.
const ROOM: usize = SET - BURST_AT_MOST - 1;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut read = Sockets::default();
    let mut write = Sockets::default();
    let mut ready = Vec::new();

    while !acceptor.is_closed() || !connections.is_empty() {
        let has_room = connections.len() < ROOM;
        if !has_room && acceptor.is_open() {
            server.terms.counters.note_no_descriptor();
        }
        // The sets are rebuilt for each call, which keeps only the ready sockets in them.
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

        // A scan of all connections finds the ready ones.
        let is_ready = |stream, wants| match wants {
            Wants::Write => write.has(stream),
            Wants::Read | Wants::Shut | Wants::Close => read.has(stream),
        };
        let all = connections.iter();
        ready.extend(
            all.filter_map(|(number, stream, wants)| is_ready(stream, wants).then_some(number)),
        );
        for number in ready.drain(..) {
            if connections.advance(number) == Watch::Closed {
                acceptor.resume();
            }
        }
        if read.has(listener) {
            while let Some(stream) = acceptor.accept()? {
                connections.begin(stream); // a connection that is kept is in the sets of the next call
            }
        }
    }
    Ok(())
}

/// `FD_SET` with a larger capacity.
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

    /// The argument of the call; null if the set is empty.
    fn as_fd_set(&mut self) -> *mut FD_SET {
        if self.0.count == 0 { std::ptr::null_mut() } else { (&raw mut *self.0).cast() }
    }
}

/// Waits until some sockets are ready, and keeps only these in the sets.
fn wait_for(read: &mut Sockets, write: &mut Sockets, wait: Option<Duration>) -> io::Result<()> {
    if read.all().is_empty() && write.all().is_empty() {
        // The call fails for empty sets, which occur after a shortage, without connections and with accepting paused.
        std::thread::sleep(wait.unwrap_or_default());
        return Ok(());
    }
    let time = wait.map(|wait| {
        let us = wait.as_nanos().div_ceil(1_000);
        TIMEVAL { tv_sec: (us / 1_000_000) as i32, tv_usec: (us % 1_000_000) as i32 }
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let no_errors = std::ptr::null_mut();
    // SAFETY: the sets contain as many sockets as their counts; sets and time are used only during the call.
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
