//! Processes forked in advance: each accepts a connection, serves its client by blocking calls, and accepts the next.

use std::io;

use platform::process::fork;

use crate::conversation::converse;
use crate::server::Server;

pub fn serve(server: &Server) -> io::Result<()> {
    let worker = || {
        let serve = || {
            server
                .accept_blocking()
                .try_for_each(|stream| stream.map(|stream| converse(stream, &server.terms)))
        };
        i32::from(serve().is_err())
    };
    let workers: Result<Vec<_>, _> = (0..server.workers).map(|_| fork(worker)).collect();
    for mut worker in workers.map_err(io::Error::other)? {
        worker.wait().map_err(io::Error::other)?;
    }
    Ok(())
}
