//! One thread, and a list of all connections that the system goes through each time. Other than poll, it
//! refuses a list without a single socket, and what it says of places without one has changed: so the
//! list has no gaps.

use std::io;
use std::net::TcpStream;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    POLLRDNORM, POLLWRNORM, SOCKET, SOCKET_ERROR, WSAGetLastError, WSAPOLLFD, WSAPoll,
};

use crate::accepting::Acceptor;
use crate::connection::Reading;
use crate::connections::{Connections, Watch};
use crate::exchange::Wants;
use crate::server::Server;

/// The listener among those watched; connection n is n + 1.
const LISTENER: usize = 0;

pub fn serve(server: &Server) -> io::Result<()> {
    let listener = &server.listeners[0];
    let mut acceptor = Acceptor::new(server, listener)?;
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
        let some = watched.poll(connections.wait(&acceptor))?;
        connections.tick(&mut acceptor, |number, _| watched.remove(number + 1));
        ready.extend(watched.ready().take(some));
        let mut has_new = false;
        for one in ready.drain(..) {
            if one == LISTENER {
                has_new = true;
                continue;
            }
            match connections.advance(one - 1) {
                Watch::Gone => {
                    watched.remove(one);
                    acceptor.resume();
                }
                Watch::Other(wants) => watched.change(one, wants),
                Watch::Same => {}
            }
        }
        if has_new && acceptor.is_open() {
            acceptor.accept(|stream| watch(&mut connections, &mut watched, stream))?;
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

/// Who is watched.
#[derive(Default)]
struct Watched {
    entries: Vec<WSAPOLLFD>,
    /// Whose each entry is.
    whose: Vec<usize>,
    /// Where the entry of each is; of no meaning for who has none.
    places: Vec<usize>,
}

impl Watched {
    fn add(&mut self, who: usize, socket: SOCKET, wants: Wants) {
        if self.places.len() <= who {
            self.places.resize(who + 1, usize::MAX);
        }
        self.places[who] = self.entries.len();
        self.entries.push(WSAPOLLFD { fd: socket, events: events(wants), revents: 0 });
        self.whose.push(who);
    }

    fn change(&mut self, who: usize, wants: Wants) {
        self.entries[self.places[who]].events = events(wants);
    }

    /// The last entry takes the place of the one removed.
    fn remove(&mut self, who: usize) {
        let place = self.places[who];
        self.entries.swap_remove(place);
        self.whose.swap_remove(place);
        if let Some(&moved) = self.whose.get(place) {
            self.places[moved] = place;
        }
    }

    /// Who is ready.
    fn ready(&self) -> impl Iterator<Item = usize> {
        let all = self.entries.iter().zip(&self.whose);
        all.filter_map(|(entry, &who)| (entry.revents != 0).then_some(who))
    }

    /// Waits until some are ready; says how many.
    fn poll(&mut self, wait: Option<Duration>) -> io::Result<usize> {
        if self.entries.is_empty() {
            // After a shortage: nobody is served, nobody is to be accepted yet.
            std::thread::sleep(wait.unwrap_or_default());
            return Ok(0);
        }
        // Rounded up: a loop that wakes too early would turn for nothing.
        let ms = wait.map_or(-1, |wait| wait.as_nanos().div_ceil(1_000_000) as i32);
        // SAFETY: the entries are valid, as many as is said, and only written to during the call.
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
