//! A thread for each connection, which serves its client by blocking calls. The system's plain call starts the thread, as
//! in a C program, so that the cost is the architecture's.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;

use platform::detached_thread;
use serving::PAUSE;

use crate::conversation::converse;
use crate::server::{Server, Terms};

/// Stack size of a thread, enough for a conversation; pages that are not touched take no memory.
const STACK: usize = 128 * 1024;

pub fn serve(server: &Server) -> io::Result<()> {
    let threads = Threads::default();
    for stream in server.accept_blocking() {
        start(&threads, &server.terms, stream?);
    }
    Ok(())
}

/// The running threads. Dropping this waits for them.
#[derive(Default)]
struct Threads {
    running: Arc<AtomicUsize>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        while self.running.load(Ordering::Acquire) > 0 {
            sleep(PAUSE / 10);
        }
    }
}

/// Starts a thread for a connection; retries while no thread can be started.
fn start(threads: &Threads, terms: &Terms, stream: TcpStream) {
    threads.running.fetch_add(1, Ordering::Relaxed);
    let (running, of_thread) = (Arc::clone(&threads.running), terms.clone());
    let mut conversation = move || {
        converse(stream, &of_thread);
        running.fetch_sub(1, Ordering::Release);
    };
    while let Err((_, unstarted)) = detached_thread::start(STACK, conversation) {
        terms.counters.note_no_process();
        conversation = unstarted;
        sleep(PAUSE);
    }
}
