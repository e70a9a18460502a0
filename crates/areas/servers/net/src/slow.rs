use std::time::Duration;

use loadgen::SlowClients;
use measure::Params;
use servers::Protocol;

use super::metrics;
use super::test_bed::{NETWORK, PLACE};
use super::trial::{self, Speed};
use super::{ARCH, CPUS, ONE_OF_EACH_KIND, VARIANTS, WORK, is_here};
use catalog::{Case, Extent, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    operation: "One HTTP request answered on a persistent connection, while `slow` other connections send theirs at \
                1 KiB/s, 64 bytes at a time.",
    comparable_to: "slowhttptest opens such connections too, and only checks whether the server still answers. A \
                server with a fixed number of processes or threads answers nobody else once each has a slow client.",
    trials: Some(super::trials(takes, includes)),
    params: &[
        Param {
            default: ONE_OF_EACH_KIND,
            full: ONE_OF_EACH_KIND,
            takes: Takes::Words(VARIANTS),
            ..ARCH
        },
        Param::new("connections", &["10"])
            .meaning("the number of fast connections, each with one request in progress")
            .full(&["10", "100"])
            .takes(Takes::Count(10_000)),
        Param::new("slow", &["500"])
            .meaning("the number of slow connections")
            .full(&["50", "500", "2000"])
            .takes(Takes::Count(10_000)),
        PLACE,
        NETWORK,
        WORK,
        CPUS,
    ],
    metrics: metrics::SLOW,
    run: |params, round| trial::run(params, Protocol::HTTP, count_of(params, "slow")?, round),
    ..Case::new("net", "slow")
};

/// Whether a run of this extent measures the point: a default run measures a thread for each connection, and an event loop.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let arch = value_of(params, "arch").unwrap_or_default();
    match extent {
        Extent::Full => true,
        Extent::Ordinary => {
            is_here(params) && ["threads", "epoll", "kqueue", "iocp"].contains(&arch)
        }
        Extent::Quick => false,
    }
}

/// Approximate duration of a trial.
pub fn takes(params: &Params) -> Duration {
    let accepted = match value_of(params, "arch") {
        Ok("fork") => 3_000.0,
        _ => 20_000.0,
    };
    let slow = count_of(params, "slow").unwrap_or(0) as f64;
    let of_slow = Duration::from_secs_f64(slow / accepted);
    of_slow
        + SlowClients::FIRST_REQUESTS
        + SlowClients::REQUEST_TAKES
        + trial::takes(params, &Speed { accepted, replies: 40_000.0 })
}
