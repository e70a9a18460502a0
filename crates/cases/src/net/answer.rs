use std::time::Duration;

use measure::{CaseError, Params, Round};
use servers::Protocol;

use super::metrics;
use super::test_bed::{NETWORK, PLACE};
use super::trial::{self, Speed};
use super::{ARCH, all_but, is_here, is_listed_as_missing};
use crate::{Case, Extent, Only, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    area: "net",
    name: "answer",
    operation: "A connection accepted, answered with `450 too busy` and closed, by a server that has a CPU of its \
                own, while so many connections are in flight.",
    comparable_to: "A web server with `Connection: close` does this and also reads a request; smtp-source and \
            ApacheBench load a server like this, but do not check what comes.",
    only: Only::Everywhere,
    core_bound: false,
    trials: Some(super::trials(takes, includes)),
    params: &[
        Param {
            default: &all_but::<11>(&["select", "poll", "epoll-level", "epoll-per-cpu"]),
            ..ARCH
        },
        Param {
            name: "connections",
            meaning: "how many connections are in flight",
            // Most change between 1 and 10, where event loops overtake threads; beyond 100 rates and costs hardly
            // change, which one more level shows. `includes` says which architectures are measured at which.
            default: &["1", "10", "100", "1000"],
            full: &["1", "10", "100", "500", "1000", "1500", "2500", "5000"],
            takes: Takes::Count(10_000),
        },
        PLACE,
        NETWORK,
    ],
    metrics: metrics::LOAD,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    trial::run(params, Protocol::TOO_BUSY, round)
}

/// The questions of an ordinary run are how a process, a thread and an event loop compare, from how many connections
/// on, and what other ways of waiting change. So these three are at most levels, the others at one or two:
///
/// - `exec` answers as many a second at every level, and takes more than a second to open a thousand connections;
/// - `prefork` and `pool` have 64 processes or threads at any level, where more connections only wait longer;
/// - `fork` is as fast at 10 as at 100;
/// - with one connection nothing but waking an idle CPU is seen of any event loop.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    let arch = value_of(params, "arch").unwrap_or_default();
    let is_loop = ["epoll", "kqueue", "iocp"].contains(&arch);
    match (extent, connections) {
        (Extent::Full, _) => true,
        _ if !is_here(params) => is_listed_as_missing(connections, extent),
        (Extent::Quick, 1) => is_loop || arch == "threads",
        (Extent::Quick, 100) => is_loop || ["fork", "threads"].contains(&arch),
        (Extent::Ordinary, 1) => is_loop || ["fork", "threads"].contains(&arch),
        (Extent::Ordinary, 10) => is_loop || ["exec", "threads"].contains(&arch),
        (Extent::Ordinary, 100) => arch != "exec",
        (Extent::Ordinary, 1_000) => !["exec", "prefork", "pool"].contains(&arch),
        _ => false,
    }
}

pub fn takes(params: &Params) -> Duration {
    let per_s = match value_of(params, "arch") {
        Ok("exec") => 650.0,
        Ok("fork") => 5_000.0,
        Ok("prefork" | "threads" | "pool") => 20_000.0,
        _ => 30_000.0,
    };
    trial::takes(params, &Speed { accepted: per_s, replies: per_s })
}
