//! One thread with WSAPoll: the system scans a list of all connections in each call. Unlike poll, WSAPoll fails for an
//! empty list, and its treatment of unused entries differs between versions of Windows, so the list has no gaps.

use std::io;
use std::net::TcpStream;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use serving::Acceptor;
use windows_sys::Win32::Networking::WinSock::{
    POLLRDNORM, POLLWRNORM, SOCKET, SOCKET_ERROR, WSAGetLastError, WSAPOLLFD, WSAPoll,
};

use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The key of the listener in [`Watched`]; connection n has the key n + 1.
const LISTENER: usize = 0;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server.terms.accepting(), [listener])?;
    let mut connections = Connections::new(server, Reading::Once);
    let mut watched = Watched::default();
    let mut listening = false;
    let mut ready = Vec::new();

    while !acceptor.is_closed() || !connections.is_empty() {
        if listening != acceptor.is_open() {
            listening = acceptor.is_open();
            match listening {
                true => watched.add(LISTENER, listener.as_raw_socket() as SOCKET, Wants::Read),
                false => watched.remove(LISTENER),
            }
        }
        let count = watched.poll(connections.wait(&acceptor))?;
        connections.tick(&mut acceptor, |number, _| watched.remove(number + 1));
        ready.extend(watched.ready().take(count));
        let mut has_new = false;
        for key in ready.drain(..) {
            if key == LISTENER {
                has_new = true;
                continue;
            }
            match connections.advance(key - 1) {
                Watch::Closed => {
                    watched.remove(key);
                    acceptor.resume();
                }
                Watch::Other(wants) => watched.change(key, wants),
                Watch::Same => {}
            }
        }
        if has_new {
            while let Some(stream) = acceptor.accept()? {
                watch(&mut connections, &mut watched, stream);
            }
        }
    }
    Ok(())
}

fn watch(connections: &mut Connections, watched: &mut Watched, stream: TcpStream) {
    let socket = stream.as_raw_socket() as SOCKET;
    if let Some((number, wants)) = connections.begin(stream) {
        watched.add(number + 1, socket, wants);
    }
}

/// The watched sockets, by key.
#[derive(Default)]
struct Watched {
    entries: Vec<WSAPOLLFD>,
    /// The key of each entry.
    keys: Vec<usize>,
    /// The index of each key's entry; meaningless for keys without one.
    indexes: Vec<usize>,
}

impl Watched {
    fn add(&mut self, key: usize, socket: SOCKET, wants: Wants) {
        if self.indexes.len() <= key {
            self.indexes.resize(key + 1, usize::MAX);
        }
        self.indexes[key] = self.entries.len();
        self.entries.push(WSAPOLLFD { fd: socket, events: events(wants), revents: 0 });
        self.keys.push(key);
    }

    fn change(&mut self, key: usize, wants: Wants) {
        self.entries[self.indexes[key]].events = events(wants);
    }

    /// Removes an entry; the last entry moves to its index.
    fn remove(&mut self, key: usize) {
        let index = self.indexes[key];
        self.entries.swap_remove(index);
        self.keys.swap_remove(index);
        if let Some(&moved) = self.keys.get(index) {
            self.indexes[moved] = index;
        }
    }

    /// The keys of the ready sockets.
    fn ready(&self) -> impl Iterator<Item = usize> {
        let all = self.entries.iter().zip(&self.keys);
        all.filter_map(|(entry, &key)| (entry.revents != 0).then_some(key))
    }

    /// Waits until some sockets are ready; returns their number.
    fn poll(&mut self, wait: Option<Duration>) -> io::Result<usize> {
        if self.entries.is_empty() {
            // The list is empty after a shortage, without connections and with accepting paused.
            std::thread::sleep(wait.unwrap_or_default());
            return Ok(0);
        }
        // The wait in whole ms is rounded up: a loop that wakes too early would do an iteration in vain.
        let ms = wait.map_or(-1, |wait| wait.as_nanos().div_ceil(1_000_000) as i32);
        // SAFETY: the pointer and the length are those of a vector, which is written to only during the call.
        match unsafe { WSAPoll(self.entries.as_mut_ptr(), self.entries.len() as u32, ms) } {
            // SAFETY: reads a value of this thread.
            SOCKET_ERROR => Err(io::Error::from_raw_os_error(unsafe { WSAGetLastError() })),
            ready => Ok(ready as usize),
        }
    }
}

fn events(wants: Wants) -> i16 {
    if wants == Wants::Write { POLLWRNORM } else { POLLRDNORM }
}
