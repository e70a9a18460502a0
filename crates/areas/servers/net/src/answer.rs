use std::time::Duration;

use measure::Params;
use servers::Protocol;

use super::metrics;
use super::test_bed::{NETWORK, PLACE};
use super::trial::{self, Speed};
use super::{ARCH, CPUS, PARENT, WORK, all_but, is_here, is_listed_as_missing};
use catalog::{Case, Extent, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    operation: "One connection accepted, answered with `450 too busy` and closed by a server on a \
                separate CPU, while `connections` connections are in flight.",
    comparable_to: "A web server with `Connection: close` also reads a request. ApacheBench (`ab` \
                without `-k`) and smtp-source load a server in this way, but do not check the \
                contents of the replies. lmbench's `lat_connect` measures one connection at a \
                time, without a reply.",
    trials: Some(super::trials(takes, includes)),
    params: &[
        Param {
            default: &all_but::<11>(&["select", "poll", "epoll-level", "epoll-per-cpu"]),
            ..ARCH
        },
        // Most changes occur between 1 and 10 connections, where event loops overtake threads; beyond 100, rates and costs hardly
        // change, as one more level shows. `includes` selects the architectures measured at each level.
        Param::new("connections", &["1", "10", "100", "1000"])
            .meaning("the number of connections in flight")
            .full(&["1", "10", "100", "500", "1000", "1500", "2500", "5000"])
            .takes(Takes::Count(10_000)),
        PLACE,
        NETWORK,
        Param { default: &["none", "cpu:20us"], full: &["none", "cpu:20us"], ..WORK },
        CPUS,
        Param { default: &["0", "256m"], full: &["0", "1m", "256m"], ..PARENT },
    ],
    metrics: metrics::LOAD,
    run: |params, round| trial::run(params, Protocol::TOO_BUSY, 0, round),
    ..Case::new("net", "answer")
};

/// Whether a run of this extent measures the point. A default run compares processes, threads and event loops by the number of
/// connections, and shows the effect of other ways to wait. Therefore these three architectures are measured at three levels
/// without work, at two with it, and some of the others at one:
///
/// Work for each request makes the server the bottleneck, so that the rates of the three show their difference at each level; at
/// a thousand connections as at a hundred.
///
/// - `exec` has the same rate at every level, and takes more than a second to open a thousand connections;
/// - `prefork` and `pool` have 64 processes or threads at any level, so that more connections only wait longer;
/// - `fork` is as fast with 10 connections as with 100;
/// - with one connection, all event loops only show the cost of waking an idle CPU.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    let arch = value_of(params, "arch").unwrap_or_default();
    let is_loop = ["epoll", "kqueue", "iocp"].contains(&arch);
    let is_published = is_loop || ["fork", "threads"].contains(&arch);
    if value_of(params, "parent") != Ok("0") {
        // Only `fork` copies page tables; more connections would only hide that cost.
        let is_plain = value_of(params, "work") == Ok("none") && connections == 1;
        return arch == "fork" && is_plain && extent != Extent::Quick;
    }
    if value_of(params, "work") != Ok("none") {
        let is_level = [1, 100].contains(&connections);
        return is_here(params) && is_published && is_level && extent != Extent::Quick;
    }
    match (extent, connections) {
        (Extent::Full, _) => true,
        _ if !is_here(params) => is_listed_as_missing(connections, extent),
        (Extent::Quick, 1) => is_loop || arch == "threads",
        (Extent::Quick, 100) => is_loop || ["fork", "threads"].contains(&arch),
        (Extent::Ordinary, 1 | 1_000) => is_published,
        (Extent::Ordinary, 10) => arch == "exec",
        (Extent::Ordinary, 100) => is_published || ["pool", "tokio"].contains(&arch),
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
