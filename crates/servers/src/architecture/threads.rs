//! A thread for each connection, which talks with its client by calls that wait.

use std::io;
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread::{Builder, Scope, sleep};

use crate::accepting::{Blocking, PAUSE};
use crate::conversation::converse;
use crate::server::Server;

/// Enough for a conversation; what is not touched takes no memory anyway.
const STACK: usize = 128 * 1024;

pub fn serve(server: &Server) -> io::Result<()> {
    std::thread::scope(|threads| {
        for stream in Blocking::new(server) {
            start(threads, server, stream?);
        }
        Ok(())
    })
}

/// Starts a thread for a connection; where there is none to be had, the client waits for it.
fn start<'scope>(threads: &'scope Scope<'scope, '_>, server: &'scope Server, stream: TcpStream) {
    // A thread that cannot be started drops what it was to do: the stream must outlive that.
    let stream = std::sync::Arc::new(Mutex::new(Some(stream)));
    loop {
        let handed_over = stream.clone();
        let conversation = move || {
            if let Some(stream) = handed_over.lock().ok().and_then(|mut slot| slot.take()) {
                converse(stream, &server.terms);
            }
        };
        match Builder::new().stack_size(STACK).spawn_scoped(threads, conversation) {
            Ok(_) => return,
            Err(_) => server.terms.counters.note_no_process(),
        }
        sleep(PAUSE);
    }
}
