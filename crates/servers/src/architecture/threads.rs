//! A thread for each connection, which serves its client by blocking calls.

use std::io;
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread::{Builder, Scope, sleep};

use serving::PAUSE;

use crate::conversation::converse;
use crate::server::Server;

/// Enough for a conversation; pages that are not touched take no memory.
const STACK: usize = 128 * 1024;

pub fn serve(server: &Server) -> io::Result<()> {
    std::thread::scope(|threads| {
        for stream in server.accept_blocking() {
            start(threads, server, stream?);
        }
        Ok(())
    })
}

/// Starts a thread for a connection; retries while none can be started.
fn start<'scope>(threads: &'scope Scope<'scope, '_>, server: &'scope Server, stream: TcpStream) {
    // If the thread cannot be started, its closure is dropped: the stream must outlive it.
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
