use std::time::Duration;

use measure::trial::Timed;
use measure::{CaseError, Params, Round};
use platform::process::tree::ProcessTree;
use servers::Protocol;

use super::metrics;
use super::test_bed::{NETWORK, PLACE, TestBed};
use super::{ARCH, ONE_OF_EACH_KIND, all_but, is_here};
use catalog::{Case, Extent, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    operation: "One connection opened, its first HTTP request answered, and then kept open and \
                idle, until there are `connections` of them.",
    comparable_to: "The figures by which servers for push messages or long sessions are sized. The \
                memory is that of the server's processes, without the kernel's memory for sockets. \
                No load generator (wrk, ab, h2load) reports it.",
    trials: Some(super::trials(takes, includes)),
    params: &[
        Param {
            meaning: "the architecture of the server (`oscost net serve --list`); those with a fixed number of processes \
                      or threads hold no more connections than that",
            // One event loop per system: the memory per connection does not depend on the call by which the loop
            // waits.
            default: ONE_OF_EACH_KIND,
            full: &all_but::<11>(&["prefork", "pool", "epoll-level", "epoll-per-cpu"]),
            takes: Takes::Words(&["epoll-level", "epoll-per-cpu"]),
            ..ARCH
        },
        Param::new("connections", &["500"])
            .meaning("the number of connections held open")
            .full(&["100", "500", "5000"])
            .takes(Takes::Count(10_000)),
        PLACE,
        NETWORK,
    ],
    metrics: metrics::HOLD,
    run,
    ..Case::new("net", "hold")
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let test_bed = TestBed::new(params, round)?;
    let connections = count_of(params, "connections")? * round.times_as_long() as usize;
    platform::process::connections::check(connections)?;
    let mut server = test_bed.server(params, Protocol::HTTP, round)?;
    let mut generators = test_bed.generator(&test_bed.load(params, &server, Protocol::HTTP))?;
    let generator = generators.first();
    // The first connections also cause costs that occur once per server.
    generator.hold(connections.min(8))?;
    let before = ProcessTree::of(server.pid())?;
    let reported = server.report()?;
    let mut more = 0;
    let mut hold = || -> Result<Duration, CaseError> {
        let held = generator.hold(connections + connections.min(8))?;
        if held.open < connections {
            let why = format!("only {} of {connections} connections could be held", held.open);
            return Err(CaseError::Failed(why));
        }
        more = held.open - connections.min(8);
        Ok(held.took)
    };
    if round.is_counting() {
        hold()?;
        let counts = super::trial::counts_of(&server.report()?.since(reported));
        round.report_counts(more as u64, &[counts]);
    } else {
        round.trial_of(&test_bed.context, || {
            Ok(Timed { took: hold()?, operations: connections as u64, value: () }) // all except the first few
        })?;
        let after = ProcessTree::of(server.pid())?;
        let by_connection = |after: f64, before: f64| (after - before).max(0.0) / more as f64;
        if let (Some(after), Some(before)) = (after.memory, before.memory) {
            round.metric(&metrics::MEMORY, by_connection(after as f64, before as f64));
        }
        let grown = by_connection(after.processes as f64, before.processes as f64);
        round.metric(&metrics::PROCESSES, grown);
        round.metric(&metrics::THREADS, by_connection(after.threads as f64, before.threads as f64));
    }
    drop(generators);
    server.end_now()
}

/// Whether a run of this extent measures the point: a quick run measures processes, which take most memory, and event loops,
/// which take least.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let arch = value_of(params, "arch").unwrap_or_default();
    match extent {
        Extent::Quick => is_here(params) && ["fork", "epoll", "kqueue", "iocp"].contains(&arch),
        Extent::Ordinary => !["io_uring", "tokio"].contains(&arch),
        Extent::Full => true,
    }
}

/// Approximate duration of a trial: starting the server, opening the connections, reading the memory of each of its processes,
/// and ending all of them.
pub fn takes(params: &Params) -> Duration {
    const AROUND: Duration = Duration::from_millis(70);
    if !is_here(params) {
        return AROUND;
    }
    let connections = count_of(params, "connections").unwrap_or(1) as f64;
    let per_s = match value_of(params, "arch") {
        Ok("exec") => 300.0,
        Ok("fork") => 1_300.0,
        Ok("threads") => 5_000.0,
        _ => 10_000.0,
    };
    AROUND + Duration::from_secs_f64(connections / per_s)
}
