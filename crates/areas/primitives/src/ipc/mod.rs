//! Costs of exchanging data between two tasks: round trips, bandwidth, connections.
//!
//! Each mechanism is one file: creating its two ends, sending and receiving. All mechanisms share the tasks, their places and the
//! check of received data.

mod common;
mod connect;
mod copy_file_range;
mod designs;
mod fifo;
mod getaddrinfo;
mod named_pipe;
mod pass_descriptor;
mod pipe;
mod posix_queue;
mod process_vm_readv;
mod sendfile;
mod shared_memory;
mod splice;
mod system_v_queue;
mod tcp;
mod tcp_connections;
mod udp;
mod unix_socket;

pub use common::*;

use measure::{Params, TIME};

use crate::{Area, Case, Counterpart, Extent, Finding, Need, Select};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["tcp-connections"],
            what: "two descriptors per connection (ulimit -n): 1,050 by default, 10,050 with --full",
        },
        Need {
            cases: &["posix-queue", "posix-queue-bandwidth"],
            what: "the sizes that fs.mqueue.msgsize_max and msg_max permit; ulimit -q",
        },
        Need {
            cases: &["sysv-queue", "sysv-queue-bandwidth"],
            what: "a free System V queue (kernel.msgmni); kernel.msgmax and msgmnb of the message's size",
        },
        Need {
            cases: &["process-vm-readv"],
            what: "permission to trace a process of one's own (kernel.yama.ptrace_scope, seccomp)",
        },
    ],
    includes,
    findings: &[Finding::Ratio {
        of: Select::point("ipc/pipe-bandwidth", BLOCKS_OF_64K),
        to: Select::point("ipc/shm-futex-bandwidth", BLOCKS_OF_64K),
        metric: &TIME,
        greater: "64 KiB take {} as long through a pipe as through shared memory.",
        less: "64 KiB take {} as long through shared memory as through a pipe.",
        equal: "64 KiB take as long through a pipe as through shared memory ({}).",
    }],
    applications: designs::APPLICATIONS,
    counterparts: &[
        Counterpart::cases("ipc/shm-futex", "ipc/shm-wait-on-address"),
        Counterpart::cases("ipc/shm-futex-bandwidth", "ipc/shm-wait-on-address-bandwidth"),
        Counterpart::cases("ipc/pipe", "ipc/named-pipe"),
        Counterpart::cases("ipc/pipe-bandwidth", "ipc/named-pipe-bandwidth"),
    ],
    ..Area::new("ipc", CASES)
};

const BLOCKS_OF_64K: &[(&str, &str)] = &[("block", "64k"), ("place", "other")];

/// Whether a run measures the point: a quick run transfers blocks of one length.
fn includes(params: &Params, extent: Extent) -> bool {
    extent != Extent::Quick || params.get("block").is_none_or(|block| block != "4k")
}

/// Cases of the area.
const CASES: &[&Case] = &[
    &pipe::ROUND_TRIP,
    &fifo::ROUND_TRIP,
    &unix_socket::STREAM,
    &unix_socket::DATAGRAM,
    &unix_socket::SEQPACKET,
    &tcp::ROUND_TRIP,
    &udp::ROUND_TRIP,
    &posix_queue::ROUND_TRIP,
    &system_v_queue::ROUND_TRIP,
    &shared_memory::ROUND_TRIP,
    &shared_memory::WAIT_ON_ADDRESS,
    &named_pipe::ROUND_TRIP,
    &tcp_connections::CASE,
    &pipe::TRANSFER,
    &fifo::TRANSFER,
    &unix_socket::STREAM_TRANSFER,
    &unix_socket::DATAGRAM_TRANSFER,
    &unix_socket::SEQPACKET_TRANSFER,
    &tcp::TRANSFER,
    &udp::TRANSFER,
    &posix_queue::TRANSFER,
    &system_v_queue::TRANSFER,
    &shared_memory::TRANSFER,
    &shared_memory::WAIT_ON_ADDRESS_TRANSFER,
    &named_pipe::TRANSFER,
    &sendfile::CASE,
    &splice::SPLICE,
    &splice::TEE,
    &copy_file_range::CASE,
    &process_vm_readv::CASE,
    &pass_descriptor::CASE,
    &connect::UNIX,
    &connect::TCP,
    &getaddrinfo::CASE,
];
