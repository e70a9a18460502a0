//! The rate and cost of servers with a process or a thread per connection, or with an event loop.
//!
//! All architectures serve the same protocol to the same load generator, which checks every reply. The server runs in a
//! separate process, the generator in the round's process; [`test_bed`] chooses their CPUs and the network. Each round
//! is one trial with a newly started server.

mod answer;
mod common;
mod hold;
pub mod limits;
pub mod metrics;
mod requests;
mod test_bed;
mod trial;

pub(crate) use common::*;

use measure::TIME;

use crate::{Area, Case, Finding, Layout, Need, Select, SummaryRow};

/// The area.
pub const AREA: Area = Area {
    needs: &[
        Need {
            cases: &[],
            what: "descriptors for both sides of all connections (ulimit -n); for fork architectures as many processes (ulimit -u); --netns: root, or CAP_SYS_ADMIN and CAP_NET_ADMIN, and the command ip",
        },
        Need {
            cases: &["answer"],
            what: "net.core.somaxconn of at least the largest number of connections",
        },
    ],
    layout: Layout::Servers,
    summary: &[
        SummaryRow {
            label: "connection answered (epoll, 100 at a time)",
            point: EPOLL,
            metric: &TIME,
        },
        SummaryRow {
            label: "connection answered (IOCP, 100 at a time)",
            point: IOCP,
            metric: &TIME,
        },
    ],
    findings: &[
        Finding::Ratio {
            of: EPOLL,
            to: THREADS,
            metric: &metrics::RATE,
            greater: "An event loop (epoll) answers {} as many connections as a thread per connection.",
            less: "A thread per connection answers {} as many connections as an event loop (epoll).",
            equal: "An event loop (epoll) answers as many connections as a thread per connection ({}).",
        },
        Finding::Ratio {
            of: THREADS,
            to: EPOLL,
            metric: &metrics::SERVER_CPU,
            greater: "A thread per connection takes {} the CPU time of an event loop (epoll).",
            less: "An event loop (epoll) takes {} the CPU time of a thread per connection.",
            equal: "An event loop (epoll) takes as much CPU time as a thread per connection ({}).",
        },
        Finding::Ratio {
            of: FORK,
            to: THREADS,
            metric: &metrics::SERVER_CPU,
            greater: "A process per connection takes {} the CPU time of a thread per connection.",
            less: "A thread per connection takes {} the CPU time of a process per connection.",
            equal: "A process per connection takes as much CPU time as a thread ({}).",
        },
        Finding::Ratio {
            of: IOCP,
            to: THREADS,
            metric: &metrics::RATE,
            greater: "An event loop (IOCP) answers {} as many connections as a thread per connection.",
            less: "A thread per connection answers {} as many connections as an event loop (IOCP).",
            equal: "An event loop (IOCP) answers as many connections as a thread per connection ({}).",
        },
    ],
    ..Area::new("net", CASES)
};

// Servers of some architectures with 100 connections in flight.
const EPOLL: Select = Select::point("net/answer", &[("arch", "epoll"), ("connections", "100")]);
const IOCP: Select = Select::point("net/answer", &[("arch", "iocp"), ("connections", "100")]);
const FORK: Select = Select::point("net/answer", &[("arch", "fork"), ("connections", "100")]);
const THREADS: Select = Select::point("net/answer", &[("arch", "threads"), ("connections", "100")]);

/// Its cases.
const CASES: &[&Case] = &[&answer::CASE, &requests::CASE, &hold::CASE];
