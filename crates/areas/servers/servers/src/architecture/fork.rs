//! A process for each connection, forked when the connection is accepted, which serves its client by blocking calls.

use std::io;
use std::net::TcpStream;
use std::thread::sleep;

use platform::process::children::{self, Fork};
use serving::PAUSE;

use crate::conversation::converse;
use crate::server::Server;

pub fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    for stream in server.accept_blocking() {
        start(server, stream?);
    }
    while children::running() > 0 {
        sleep(PAUSE / 10);
    }
    Ok(())
}

/// Starts a process for a connection; retries while no process can be started.
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
