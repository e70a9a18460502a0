//! A process for each connection, forked when it is accepted, which talks with its client by calls that
//! wait.

use std::io;
use std::net::TcpStream;
use std::thread::sleep;

use platform::children::{self, Fork};

use crate::accepting::{Blocking, PAUSE};
use crate::conversation::converse;
use crate::server::Server;

pub fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    for stream in Blocking::new(server) {
        start(server, stream?);
    }
    while children::running() > 0 {
        sleep(PAUSE / 10);
    }
    Ok(())
}

/// Starts a process for a connection; where there is none to be had, the client waits for it.
fn start(server: &Server, stream: TcpStream) {
    loop {
        match children::fork() {
            Ok(Fork::Child) => {
                converse(stream, &server.terms);
                children::exit()
            }
            Ok(Fork::Parent) => return,
            Err(_) => server.terms.counters.note_no_process(),
        }
        sleep(PAUSE);
    }
}
