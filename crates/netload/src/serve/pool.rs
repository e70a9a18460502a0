//! Threads started beforehand: each accepts a connection, talks with its client by calls that wait, and
//! accepts the next.

use std::io;

use super::Server;
use super::conversation::converse;

pub fn serve(server: &Server) -> io::Result<()> {
    server.terms.stop.set_acceptors(server.workers);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..server.workers)
            .map(|_| {
                std::thread::Builder::new().spawn_scoped(scope, || {
                    for stream in server.connections() {
                        converse(stream?, &server.terms);
                    }
                    Ok(())
                })
            })
            .collect::<io::Result<_>>()?;
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}
