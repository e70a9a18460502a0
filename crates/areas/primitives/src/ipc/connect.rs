use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};

use measure::CaseError;
use platform::socket::loopback;

use super::tcp::connect_to;
use crate::{Case, only};

/// Connecting over TCP and closing the connection.
pub const TCP: Case = Case {
    operation: "One connection over the loopback interface (IPv4), by one task: getsockname of the listening \
                socket, socket, connect and accept, TCP_NODELAY and SO_LINGER 0 on both sides, close of both. SO_LINGER 0 makes the first close reset \
                the connection, so that no port stays in TIME_WAIT.",
    comparable_to: "lmbench's `lat_connect` counts the connect alone, to another process that accepts, and leaves ports in \
            TIME_WAIT.",
    run: |_, round| {
        let failed = |e: io::Error| loopback::error_of("a TCP connection over loopback", &e);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        // The connection works: bytes arrive at the accepting side.
        let [mut client, mut server] = connect_to(&listener).map_err(failed)?;
        client.write_all(b"x").map_err(failed)?;
        io::Read::read_exact(&mut server, &mut [0]).map_err(failed)?;
        round.time_call("a TCP connection", || connect_to(&listener).is_ok())
    },
    ..Case::new("ipc", "tcp-connect")
};

/// Connecting over a Unix socket and closing the connection.
pub const UNIX: Case = Case {
    name: "unix-connect",
    operation: "One Unix-domain stream connection by the path of a socket, by one task: socket, connect to a listening \
                socket, accept, close of both.",
    comparable_to: "lmbench's `lat_unix_connect` counts the connect alone, to another process that accepts.",
    run: run_unix,
    ..TCP.on_unix()
};

#[only(unix)]
fn run_unix(_: &measure::Params, round: &mut measure::Round) -> Result<(), CaseError> {
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use platform::cleanup::Recorded;

    let failed = |e: io::Error| CaseError::from_io("a Unix-domain connection", &e);
    let socket = Recorded::file()?;
    let listener = UnixListener::bind(socket.path()).map_err(failed)?;
    let connect = || -> io::Result<[UnixStream; 2]> {
        let client = UnixStream::connect(socket.path())?;
        let (server, _) = listener.accept()?;
        Ok([client, server])
    };
    let [mut client, mut server] = connect().map_err(failed)?;
    client.write_all(b"x").map_err(failed)?;
    io::Read::read_exact(&mut server, &mut [0]).map_err(failed)?;
    let close = |stream: UnixStream| {
        // SAFETY: the stream owned the descriptor. close is called directly because an unoptimised program would make a
        // second call to drop it.
        unsafe { libc::close(stream.into_raw_fd()) == 0 }
    };
    round.expect_syscalls(5.0);
    round.time_call("a Unix-domain connection", || {
        connect().is_ok_and(|sides| sides.map(close) == [true, true])
    })
}
