use std::time::Duration;

use measure::{Params, Refusal, Round};
use netload::Protocol;

use super::ground::{NETWORK, PLACE};
use super::trial::{self, METRICS};
use super::{ARCH, all_but};
use crate::{Case, Extent, Only, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    area: "net",
    name: "requests",
    operation: "An HTTP request answered with a fixed 503 on a connection that stays, one of so many, each with \
                one request under way.",
    alike: "`wrk` against nginx with `return 503` does the same; the reply here is shorter, and checked byte for \
            byte.",
    only: Only::Everywhere,
    core_bound: false,
    params: &[
        Param {
            meaning: "how the server is built (`oscost net serve --list`); those with a fixed number of processes or \
                      threads serve no more connections than that",
            default: &all_but::<11>(&["exec", "prefork", "pool", "epoll-per-cpu"]),
            full: &all_but::<13>(&["prefork", "pool"]),
            takes: Takes::Words(&["prefork", "pool"]),
            ..ARCH
        },
        Param {
            name: "connections",
            meaning: "how many connections there are",
            default: &["1", "100", "1000"],
            full: &["1", "10", "100", "500", "1000", "1500", "2500", "5000"],
            takes: Takes::Count(10_000),
        },
        PLACE,
        NETWORK,
    ],
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), Refusal> {
    trial::run(params, Protocol::HTTP, round)
}

pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    match (extent, value_of(params, "arch")) {
        (Extent::Quick, Ok(arch)) => {
            ["threads", "epoll", "io_uring"].contains(&arch) && connections == 1_000
        }
        // The process that accepts gets its turn so rarely among a thousand that it takes seconds to begin.
        (Extent::Ordinary, Ok("fork")) => connections <= 100,
        _ => true,
    }
}

pub fn takes(params: &Params) -> Duration {
    trial::takes(
        params,
        match value_of(params, "arch") {
            Ok("exec") => 500.0,
            _ => 5_000.0,
        },
    )
}
