use std::fs::File;

use measure::CaseError;

use super::{
    BANDWIDTH, Mechanism, Messages, Stream, measure_round_trip, measure_transfer, message_of, pipe,
};
use crate::{Case, Only, on_linux, on_unix};

const ELSEWHERE: Only = Only::Unix("measured on Unix-like systems only");
const NOT_LINUX: Only = Only::Linux("measured on Linux only");

/// A message through a stream and back.
pub const STREAM: Case = Case {
    name: "unix-stream",
    operation: "One round trip: a message written to a Unix-domain stream socket, read by another task from the other \
                socket of the pair, which writes it back.",
    comparable_to: "lmbench's `lat_unix` is this with a message of 1 byte.",
    only: ELSEWHERE,
    params: super::ROUND_TRIP,
    run: |params, round| {
        let calls = (message_of(params)? == 1).then_some(2.0);
        let mechanism = Mechanism { calls, ..of("a Unix-domain stream") };
        measure_round_trip(params, round, mechanism, stream()?.map(Stream))
    },
    ..pipe::ROUND_TRIP
};

/// A message as a datagram and back.
pub const DATAGRAM: Case = Case {
    name: "unix-datagram",
    operation: "One round trip as in ipc/unix-stream, with datagram sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        let mechanism = Mechanism { calls: Some(2.0), ..of("Unix-domain datagrams") };
        measure_round_trip(params, round, mechanism, datagram()?.map(Messages))
    },
    ..STREAM
};

/// A message with its boundaries over a connection and back.
pub const SEQPACKET: Case = Case {
    name: "unix-seqpacket",
    operation: "One round trip as in ipc/unix-stream, with sequenced-packet sockets.",
    comparable_to: "lmbench has no such measurement.",
    only: NOT_LINUX,
    run: |params, round| {
        let mechanism = Mechanism { calls: Some(2.0), ..of("Unix-domain sequenced packets") };
        measure_round_trip(params, round, mechanism, seqpacket()?.map(Messages))
    },
    ..STREAM
};

/// Blocks through a stream.
pub const STREAM_TRANSFER: Case = Case {
    name: "unix-stream-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, through a pair of Unix-domain stream sockets.",
    comparable_to: "lmbench's `bw_unix` is this with blocks of 64 KiB.",
    params: super::TRANSFER,
    metrics: &[BANDWIDTH],
    run: |params, round| {
        measure_transfer(params, round, of("a Unix-domain stream"), stream()?.map(Stream))
    },
    ..STREAM
};

/// Blocks as datagrams.
pub const DATAGRAM_TRANSFER: Case = Case {
    name: "unix-datagram-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, as one datagram between a pair of Unix-domain sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        measure_transfer(params, round, of("Unix-domain datagrams"), datagram()?.map(Messages))
    },
    ..STREAM_TRANSFER
};

/// Blocks as packets of a connection.
pub const SEQPACKET_TRANSFER: Case = Case {
    name: "unix-seqpacket-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, as one packet between a pair of Unix-domain sequenced-packet sockets.",
    comparable_to: "lmbench has no such measurement.",
    only: NOT_LINUX,
    run: |params, round| {
        let mechanism = of("Unix-domain sequenced packets");
        measure_transfer(params, round, mechanism, seqpacket()?.map(Messages))
    },
    ..STREAM_TRANSFER
};

const fn of(name: &'static str) -> Mechanism {
    Mechanism { name, calls: None, window: None }
}

fn stream() -> Result<[File; 2], CaseError> {
    on_unix!({
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;

        let (first, second) =
            UnixStream::pair().map_err(|e| CaseError::from_io("socketpair", &e))?;
        Ok([first, second].map(|socket| File::from(OwnedFd::from(socket))))
    })
}

fn datagram() -> Result<[File; 2], CaseError> {
    on_unix!({
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixDatagram;

        let (first, second) =
            UnixDatagram::pair().map_err(|e| CaseError::from_io("socketpair", &e))?;
        Ok([first, second].map(|socket| File::from(OwnedFd::from(socket))))
    })
}

fn seqpacket() -> Result<[File; 2], CaseError> {
    on_linux!({
        use socket2::{Domain, Socket, Type};
        use std::os::fd::OwnedFd;

        let (first, second) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None)
            .map_err(|e| CaseError::from_io("socketpair", &e))?;
        Ok([first, second].map(|socket| File::from(OwnedFd::from(socket))))
    })
}
