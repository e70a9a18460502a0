//! Threads started in advance: each accepts a connection, serves its client by blocking calls, and accepts the next.

use std::io;

use crate::conversation::converse;
use crate::server::Server;

pub fn serve(server: &Server) -> io::Result<()> {
    std::thread::scope(|scope| {
        let start = |_| {
            let worker = || {
                server
                    .accept_blocking()
                    .try_for_each(|stream| stream.map(|stream| converse(stream, &server.terms)))
            };
            let started = std::thread::Builder::new().spawn_scoped(scope, worker);
            started.inspect_err(|_| server.terms.counters.note_no_process()).ok()
        };
        // The server also serves with fewer threads than requested.
        let workers: Vec<_> = (0..server.workers).filter_map(start).collect();
        if workers.is_empty() {
            return Err(io::Error::other("no thread could be started"));
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}
