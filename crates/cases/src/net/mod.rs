//! How many clients a server can answer that is built as a process, a thread or an event loop per connection.
//!
//! All architectures serve the same protocol to the same load generator, which checks every reply. The server runs in a
//! process of its own, the generator in the round's process; [`test_bed`] chooses their CPUs and the network. Each round
//! is one trial, with a server started for it.

mod answer;
mod hold;
pub mod limits;
pub mod metrics;
mod requests;
mod test_bed;
mod trial;

use std::time::Duration;

use measure::Params;
use servers::{ARCHITECTURES, Architecture};

use crate::{Area, Case, Extent, Finding, Param, Select, SummaryRow, Takes, Trials, value_of};

/// The area.
pub const AREA: Area = Area {
    summary: &[
        SummaryRow {
            label: "connection answered (epoll, 100 at a time)",
            point: EPOLL,
            metric: "time",
        },
        SummaryRow {
            label: "connection answered (IOCP, 100 at a time)",
            point: IOCP,
            metric: "time",
        },
    ],
    findings: &[
        Finding::Ratio {
            of: EPOLL,
            to: THREADS,
            metric: "rate",
            greater: "An event loop (epoll) answers {} as many connections as a thread per connection.",
            less: "A thread per connection answers {} as many connections as an event loop (epoll).",
            equal: "An event loop (epoll) answers as many connections as a thread per connection ({}).",
        },
        Finding::Ratio {
            of: THREADS,
            to: EPOLL,
            metric: "server-cpu",
            greater: "A thread per connection takes {} the CPU time of an event loop (epoll).",
            less: "An event loop (epoll) takes {} the CPU time of a thread per connection.",
            equal: "An event loop (epoll) takes as much CPU time as a thread per connection ({}).",
        },
        Finding::Ratio {
            of: FORK,
            to: THREADS,
            metric: "server-cpu",
            greater: "A process per connection takes {} the CPU time of a thread per connection.",
            less: "A thread per connection takes {} the CPU time of a process per connection.",
            equal: "A process per connection takes as much CPU time as a thread ({}).",
        },
        Finding::Ratio {
            of: IOCP,
            to: THREADS,
            metric: "rate",
            greater: "An event loop (IOCP) answers {} as many connections as a thread per connection.",
            less: "A thread per connection answers {} as many connections as an event loop (IOCP).",
            equal: "An event loop (IOCP) answers as many connections as a thread per connection ({}).",
        },
    ],
    ..Area::new("net", CASES)
};

// 100 connections at a time to servers of some architectures.
const EPOLL: Select = Select::point("net/answer", &[("arch", "epoll"), ("connections", "100")]);
const IOCP: Select = Select::point("net/answer", &[("arch", "iocp"), ("connections", "100")]);
const FORK: Select = Select::point("net/answer", &[("arch", "fork"), ("connections", "100")]);
const THREADS: Select = Select::point("net/answer", &[("arch", "threads"), ("connections", "100")]);

/// Its cases.
const CASES: &[&Case] = &[&answer::CASE, &requests::CASE, &hold::CASE];

/// Six trials of each point, each with a server of its own: more points tell more than more trials of fewer points.
const fn trials(takes: fn(&Params) -> Duration, includes: fn(&Params, Extent) -> bool) -> Trials {
    Trials { takes, only_by: None, counted: true, at_most: 6, includes }
}

/// Whether this system has the architecture of a point. Where it lacks it, a trial ends at once as unsupported.
fn is_here(params: &Params) -> bool {
    let found = value_of(params, "arch").ok().and_then(Architecture::find);
    found.is_none_or(|architecture| architecture.missing_here().is_none())
}

/// Whether an ordinary run lists an architecture that this system lacks: once, with the reason.
fn is_listed_as_missing(connections: usize, extent: Extent) -> bool {
    connections == 100 && extent == Extent::Ordinary
}

/// How the server is built: where that is not said otherwise, in every way there is.
const ARCH: Param = Param {
    name: "arch",
    meaning: "how the server is built (`oscost net serve --list`)",
    default: &all_but::<15>(&[]),
    full: &all_but::<15>(&[]),
    takes: Takes::Words(&[]),
};

/// The names of all architectures but some, in their order: `N` names, or it does not compile.
const fn all_but<const N: usize>(left_out: &[&str]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut nth, mut found) = (0, 0);
    while nth < ARCHITECTURES.len() {
        let name = ARCHITECTURES[nth].name;
        if !is_one_of(name, left_out) {
            names[found] = name;
            found += 1;
        }
        nth += 1;
    }
    assert!(found == N && found + left_out.len() == ARCHITECTURES.len(), "N, or a name, is wrong");
    names
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut nth = 0;
    while nth < names.len() {
        if is_same(name.as_bytes(), names[nth].as_bytes()) {
            return true;
        }
        nth += 1;
    }
    false
}

/// Operators are not for constants yet.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
