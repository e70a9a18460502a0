use std::time::Duration;

use measure::{Params, Refusal, Round};
use netload::Protocol;

use super::ground::{NETWORK, PLACE};
use super::trial::{self, METRICS};
use super::{ARCH, all_but};
use crate::{Case, Extent, Only, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    area: "net",
    name: "answer",
    operation: "A connection accepted, answered with `450 too busy` and closed, by a server that has a CPU of its \
                own, while so many connections are in flight.",
    alike: "A web server with `Connection: close` does this and also reads a request; smtp-source and \
            ApacheBench load a server like this, but do not check what comes.",
    only: Only::Everywhere,
    core_bound: false,
    params: &[
        Param {
            default: &all_but::<11>(&["select", "poll", "epoll-level", "epoll-per-cpu"]),
            ..ARCH
        },
        Param {
            name: "connections",
            meaning: "how many connections are in flight",
            default: &["1", "10", "100", "500", "1000", "1500", "2500", "5000"],
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
    trial::run(params, Protocol::TOO_BUSY, round)
}

/// Starting a program for each connection is so slow that a thousand take seconds only to be opened.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    match (extent, value_of(params, "arch")) {
        (Extent::Full, _) => true,
        (_, Ok("exec")) => connections <= 100 && extent == Extent::Ordinary,
        (Extent::Quick, Ok(arch)) => {
            ["fork", "threads", "epoll"].contains(&arch) && [1, 100, 1_000].contains(&connections)
        }
        _ => true,
    }
}

pub fn takes(params: &Params) -> Duration {
    trial::takes(
        params,
        match value_of(params, "arch") {
            Ok("exec") => 500.0,
            Ok("fork") => 2_000.0,
            _ => 10_000.0,
        },
    )
}
