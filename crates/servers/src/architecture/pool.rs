//! Threads started beforehand: each accepts a connection, talks with its client by calls that wait, and
//! accepts the next.

use std::io;

use crate::accepting::Blocking;
use crate::conversation::converse;
use crate::server::Server;

pub fn serve(server: &Server) -> io::Result<()> {
    std::thread::scope(|scope| {
        let start = |_| {
            let worker = || {
                Blocking::new(server)
                    .try_for_each(|stream| stream.map(|stream| converse(stream, &server.terms)))
            };
            let started = std::thread::Builder::new().spawn_scoped(scope, worker);
            started.inspect_err(|_| server.terms.counters.note_no_process()).ok()
        };
        // With fewer than wanted it serves all the same.
        let workers: Vec<_> = (0..server.workers).filter_map(start).collect();
        if workers.is_empty() {
            return Err(io::Error::other("not one thread could be started"));
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}
