//! As many event loops as CPUs, each a thread with a listener of its own on the same port: the kernel shares
//! connections out among them.

use std::io;

use platform::cpu::pin_thread;

use super::connection::Reading;
use super::{Server, epoll};

pub fn serve(server: &Server) -> io::Result<()> {
    std::thread::scope(|scope| {
        let mut loops = Vec::new();
        for (listener, &cpu) in server.listeners.iter().zip(&server.cpus) {
            let one = std::thread::Builder::new().spawn_scoped(scope, move || {
                // Where threads cannot be placed, the system places them.
                let _ = pin_thread(cpu);
                epoll::serve(server, listener, Reading::Once)
            });
            // Who is given to a listener without a loop would wait for ever: then the others end too.
            loops.push(one.inspect_err(|_| server.terms.stop.request(server.address))?);
        }
        loops.into_iter().try_for_each(|one| one.join().expect("a loop does not panic"))
    })
}
