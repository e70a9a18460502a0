//! The rate and cost of servers with a process or a thread per connection, or with an event loop.
//!
//! All architectures serve the same protocol to the same load generator, which checks every reply. The server runs in a
//! separate process, the generator in the round's process; [`test_bed`] chooses their CPUs and the network. Each round
//! is one trial with a newly started server.

mod answer;
mod command;
mod common;
mod designs;
mod growth;
mod hold;
pub(crate) mod limits;
pub mod metrics;
mod network_namespace;
mod overload;
mod overtaking;
mod requests;
mod slow;
mod tables;
mod test_bed;
mod trial;
mod worker;

pub(crate) use common::*;
pub use overtaking::overtakings;
pub use tables::LAYOUT;

use catalog::{Area, Case, Counterpart, Finding, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    // A run of everything has no time for these cases.
    extended: &["net/overload", "net/slow"],
    beyond_quick: &["net/hold"],
    experiments: &["work", "parent"],
    command: Some(command::COMMAND),
    tasks: &[&worker::SERVE, &worker::STDIO],
    limits: limits::notes,
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
    summary: &[
        SummaryRow::time("connection answered (epoll, 100 at a time)", EPOLL_AT_100),
        SummaryRow::time("connection answered (IOCP, 100 at a time)", IOCP_AT_100),
    ],
    findings: &[Finding::Ratio {
        of: FORK_OF_256M,
        to: FORK,
        metric: &metrics::SERVER_CPU,
        greater: "A process per connection takes {} the CPU time if the server uses 256 MiB besides.",
        less: "A process per connection takes {} the CPU time if the server uses no memory besides.",
        equal: "A process per connection takes as much CPU time if the server uses 256 MiB besides ({}).",
    }],
    applications: designs::APPLICATIONS,
    counterparts: &[
        Counterpart {
            unix: Select::point("net/answer", &[("arch", "epoll")]),
            windows: Select::point("net/answer", &[("arch", "iocp")]),
        },
        Counterpart {
            unix: Select::point("net/requests", &[("arch", "epoll")]),
            windows: Select::point("net/requests", &[("arch", "iocp")]),
        },
        Counterpart {
            unix: Select::point("net/hold", &[("arch", "epoll")]),
            windows: Select::point("net/hold", &[("arch", "iocp")]),
        },
    ],
    derived: &[overtaking::overtakings, growth::growths, growth::collapses],
    ..Area::new("net", CASES)
};

// Points of some architectures; the first two have 100 connections in flight.
const EPOLL_AT_100: Select =
    Select::point(ANSWER, &[("arch", "epoll"), ("connections", "100"), ("work", "none")]);
const IOCP_AT_100: Select =
    Select::point(ANSWER, &[("arch", "iocp"), ("connections", "100"), ("work", "none")]);
const FORK: Select = Select::point(ANSWER, &[("arch", "fork"), ("work", "none"), ("parent", "0")]);
const FORK_OF_256M: Select =
    Select::point(ANSWER, &[("arch", "fork"), ("work", "none"), ("parent", "256m")]);

/// Cases of the area.
const CASES: &[&Case] =
    &[&answer::CASE, &requests::CASE, &hold::CASE, &overload::CASE, &slow::CASE];
