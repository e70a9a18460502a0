use std::time::Duration;

use measure::Params;
use servers::Protocol;

use super::metrics;
use super::test_bed::{NETWORK, PLACE};
use super::trial::{self, Speed};
use super::{ARCH, CPUS, PARENT, WORK, all_but, is_here, is_listed_as_missing};
use catalog::{Case, Extent, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    operation: "One HTTP request answered with a fixed 503 on a persistent connection, while each \
                of `connections` connections has one request in progress.",
    comparable_to: "`wrk` or `ab -k` against nginx with `return 503` does the same; here the reply \
                is shorter, and is checked byte for byte.",
    trials: Some(super::trials(takes, includes)),
    params: &[
        Param {
            meaning: "the architecture of the server (`oscost net serve --list`); those with a fixed number of processes \
                      or threads serve no more connections than that",
            // `epoll-level` is within a few percent of `epoll` here, and with one CPU `epoll-per-cpu` has only one
            // loop.
            default: &all_but::<10>(&["exec", "prefork", "pool", "epoll-level", "epoll-per-cpu"]),
            full: &all_but::<13>(&["prefork", "pool"]),
            takes: Takes::Words(&["prefork", "pool"]),
            ..ARCH
        },
        Param::new("connections", &["1", "100", "1000"])
            .meaning("the number of connections")
            .full(&["1", "10", "100", "500", "1000", "1500", "2500", "5000"])
            .takes(Takes::Count(10_000)),
        PLACE,
        NETWORK,
        WORK,
        CPUS,
        PARENT,
    ],
    metrics: metrics::LOAD,
    run: |params, round| trial::run(params, Protocol::HTTP, 0, round),
    ..Case::new("net", "requests")
};

/// Whether a run of this extent measures the point. With one connection all architectures only show the cost of waking an idle
/// CPU. `select` and `poll` differ from `epoll` only with many connections. With more than 100, `fork` and `threads` take seconds
/// to start, since the process or thread that accepts rarely gets the CPU.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    let arch = value_of(params, "arch").unwrap_or_default();
    let is_loop = ["epoll", "kqueue", "iocp"].contains(&arch);
    match (extent, connections) {
        (Extent::Full, _) => true,
        _ if !is_here(params) => is_listed_as_missing(connections, extent),
        (Extent::Quick, 100) => is_loop || arch == "threads",
        (Extent::Ordinary, 100) => !["select", "poll", "wsapoll"].contains(&arch),
        (Extent::Ordinary, 1_000) => !["fork", "select", "threads", "tokio"].contains(&arch),
        _ => false,
    }
}

pub fn takes(params: &Params) -> Duration {
    let speed = match value_of(params, "arch") {
        Ok("exec") => Speed { accepted: 400.0, replies: 20_000.0 },
        Ok("fork") => Speed { accepted: 1_000.0, replies: 20_000.0 },
        Ok("threads") => Speed { accepted: 10_000.0, replies: 40_000.0 },
        _ => Speed { accepted: 30_000.0, replies: 80_000.0 },
    };
    trial::takes(params, &speed)
}
