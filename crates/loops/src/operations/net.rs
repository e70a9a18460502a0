//! Servers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::calls::fail;
use crate::operation::{Operation, Params};
use crate::setting::{Setting, Timed};
use crate::tasks::{Kind, Place, beside, fork_alone};

const REPLY: &[u8] = b"450 too busy\r\n";

pub const OPERATIONS: &[Operation] = &[
    Operation::new("net/answer", ARCHITECTURE_THREADS, |setting| {
        answered(setting, |connection| {
            std::thread::spawn(move || reply(&connection));
        })
    }),
    Operation::new("net/answer", ARCHITECTURE_FORK, |setting| {
        answered(setting, |connection| {
            // SAFETY: takes numbers only. Ended children need no waiting, as the server ignores SIGCHLD.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            fork_alone(|| {
                reply(&connection);
                0
            });
        })
    }),
];

const ARCHITECTURE_THREADS: Params =
    &[("arch", "threads"), ("connections", "1"), ("work", "none"), ("parent", "0")];
const ARCHITECTURE_FORK: Params =
    &[("arch", "fork"), ("connections", "1"), ("work", "none"), ("parent", "0")];

/// Connections, one at a time, to a server process on another CPU, where `serve` answers and closes each.
fn answered(setting: &Setting, serve: fn(TcpStream)) -> Timed {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback interface");
    let address = listener.local_addr().expect("a bound socket has an address");
    let accept = move || match listener.accept() {
        Ok((connection, _)) => serve(connection),
        Err(_) => fail("accept"),
    };
    beside(setting, Kind::Process, Place::Other, accept, || {
        let mut reply = Vec::new();
        setting.repeat(|| {
            let mut connection = TcpStream::connect(address).expect("a connection");
            reply.clear();
            connection.read_to_end(&mut reply).expect("a reply");
            assert_eq!(reply, REPLY, "the whole reply");
        })
    })
}

fn reply(mut connection: &TcpStream) {
    if connection.write_all(REPLY).is_err() {
        fail("write");
    }
}
