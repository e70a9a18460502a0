use std::fs::File;

use measure::CaseError;
use socket2::Type;

use super::{
    BANDWIDTH, Calls, Mechanism, Messages, Stream, measure_round_trip, measure_transfer, pipe,
};
use crate::{Case, only};

/// A message through a stream and back.
pub const STREAM: Case = Case {
    name: "unix-stream",
    operation: "One round trip: a message written to a Unix-domain stream socket, read by another task from the other \
                socket of the pair, which writes it back.",
    comparable_to: "lmbench's `lat_unix` is this with a message of 1 byte.",
    params: super::ROUND_TRIP,
    run: |params, round| {
        let ends = pair(Type::STREAM)?.map(Stream);
        measure_round_trip(params, round, STREAM_SOCKET, ends)
    },
    ..pipe::ROUND_TRIP.on_unix()
};

/// A message as a datagram and back.
pub const DATAGRAM: Case = Case {
    name: "unix-datagram",
    operation: "One round trip as in ipc/unix-stream, with datagram sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        let ends = pair(Type::DGRAM)?.map(Messages);
        measure_round_trip(params, round, DATAGRAMS, ends)
    },
    ..STREAM
};

/// A packet with its boundaries over a connection and back.
pub const SEQPACKET: Case = Case {
    name: "unix-seqpacket",
    operation: "One round trip as in ipc/unix-stream, with sequenced-packet sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        let ends = pair(Type::SEQPACKET)?.map(Messages);
        measure_round_trip(params, round, SEQUENCED_PACKETS, ends)
    },
    ..STREAM.on_linux()
};

/// Blocks through a stream.
pub const STREAM_TRANSFER: Case = Case {
    name: "unix-stream-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, through a pair of Unix-domain stream sockets.",
    comparable_to: "lmbench's `bw_unix` is this with blocks of 64 KiB.",
    params: super::TRANSFER,
    metrics: &[BANDWIDTH],
    run: |params, round| {
        measure_transfer(params, round, STREAM_SOCKET, pair(Type::STREAM)?.map(Stream))
    },
    ..STREAM
};

/// Blocks as datagrams.
pub const DATAGRAM_TRANSFER: Case = Case {
    name: "unix-datagram-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, as one datagram between a pair of Unix-domain sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        measure_transfer(params, round, DATAGRAMS, pair(Type::DGRAM)?.map(Messages))
    },
    ..STREAM_TRANSFER
};

/// Blocks as packets of a connection.
pub const SEQPACKET_TRANSFER: Case = Case {
    name: "unix-seqpacket-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, as one packet between a pair of Unix-domain sequenced-packet sockets.",
    comparable_to: "lmbench has no such measurement.",
    run: |params, round| {
        measure_transfer(params, round, SEQUENCED_PACKETS, pair(Type::SEQPACKET)?.map(Messages))
    },
    ..STREAM_TRANSFER.on_linux()
};

const STREAM_SOCKET: Mechanism = Mechanism::new("a Unix-domain stream", Calls::TwoForOneByte);
const DATAGRAMS: Mechanism = Mechanism::new("Unix-domain datagrams", Calls::Two);
const SEQUENCED_PACKETS: Mechanism = Mechanism::new("Unix-domain sequenced packets", Calls::Two);

/// Two connected sockets.
#[only(unix)]
fn pair(kind: Type) -> Result<[File; 2], CaseError> {
    use std::os::fd::OwnedFd;

    let (first, second) = socket2::Socket::pair(socket2::Domain::UNIX, kind, None)
        .map_err(|e| CaseError::from_io("socketpair", &e))?;
    Ok([first, second].map(|socket| File::from(OwnedFd::from(socket))))
}
