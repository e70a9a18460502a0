use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use measure::CaseError;
use platform::socket::loopback;
use socket2::SockRef;

use super::{
    Calls, Mechanism, ROUND_TRIP_ANYWHERE, Stream, measure_round_trip, measure_transfer, pipe,
};
use crate::Case;

/// A message over a connection and back.
pub const ROUND_TRIP: Case = Case {
    name: "tcp",
    operation: "One round trip: a message sent over a TCP connection of the loopback interface (IPv4, TCP_NODELAY), \
                received by another task, which sends it back.",
    comparable_to: "lmbench's `lat_tcp` is this with a message of 1 byte.",
    params: ROUND_TRIP_ANYWHERE,
    run: |params, round| measure_round_trip(params, round, MECHANISM, connection()?.map(Stream)),
    ..pipe::ROUND_TRIP
};

/// Blocks over a connection.
pub const TRANSFER: Case = Case {
    name: "tcp-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, over a TCP connection of the loopback interface (IPv4, TCP_NODELAY, \
                buffers of default size).",
    comparable_to: "lmbench's `bw_tcp` is this with blocks of 64 KiB.",
    run: |params, round| measure_transfer(params, round, MECHANISM, connection()?.map(Stream)),
    ..pipe::TRANSFER
};

const MECHANISM: Mechanism = Mechanism::new("a TCP connection", Calls::TwoForOneByte);

/// Both sides of a connection.
pub fn connection() -> Result<[TcpStream; 2], CaseError> {
    let failed = |e| loopback::error_of("a TCP connection over loopback", &e);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    connect_to(&listener).map_err(failed)
}

/// Both sides of a connection to this listener.
pub fn connect_to(listener: &TcpListener) -> std::io::Result<[TcpStream; 2]> {
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    for side in [&client, &server] {
        side.set_nodelay(true)?;
        // Closing resets the connection: no TIME_WAIT is left, which would keep a port for a minute.
        SockRef::from(side).set_linger(Some(Duration::ZERO))?;
    }
    Ok([client, server])
}
