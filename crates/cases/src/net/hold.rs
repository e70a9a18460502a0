use std::time::Duration;

use measure::trial::Timed;
use measure::{CaseError, Combine, Direction, Params, Round};
use platform::tree::ProcessTree;
use servers::Protocol;

use super::test_bed::{NETWORK, PLACE, TestBed};
use super::{ARCH, all_but, is_here};
use crate::{Case, Extent, Only, Param, Takes, count_of, value_of};

pub const CASE: Case = Case {
    area: "net",
    name: "hold",
    operation: "A connection opened, its first HTTP request answered, and then kept idle among so many.",
    comparable_to: "What servers are sized by that push messages or keep sessions open; the memory is the server's own, \
            without what the kernel keeps for sockets.",
    only: Only::Everywhere,
    core_bound: false,
    params: &[
        Param {
            meaning: "how the server is built (`oscost net serve --list`); those with a fixed number of processes or \
                      threads hold no more connections than that",
            // One event loop of each system: what a connection takes of the server's memory does not depend on the
            // call by which the loop waits.
            default: &all_but::<7>(&[
                "exec",
                "prefork",
                "pool",
                "select",
                "poll",
                "wsapoll",
                "epoll-level",
                "epoll-per-cpu",
            ]),
            full: &all_but::<11>(&["prefork", "pool", "epoll-level", "epoll-per-cpu"]),
            takes: Takes::Words(&["epoll-level", "epoll-per-cpu"]),
            ..ARCH
        },
        Param {
            name: "connections",
            meaning: "how many connections are held",
            default: &["500"],
            full: &["100", "500", "5000"],
            takes: Takes::Count(10_000),
        },
        PLACE,
        NETWORK,
    ],
    metrics: &[
        (
            "memory",
            "memory of the server and all its processes, with page tables, by connection held",
        ),
        ("processes", "processes of the server, by connection held"),
        ("threads", "threads of all its processes, by connection held"),
    ],
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let test_bed = TestBed::new(params, round)?;
    let connections = count_of(params, "connections")?;
    super::limits::check(connections)?;
    let mut server = test_bed.server(params, Protocol::HTTP, round)?;
    let mut generator = test_bed.generator(&server, Protocol::HTTP)?;
    // What the first connections cost once is not theirs.
    generator.hold(connections.min(8))?;
    let before = ProcessTree::of(server.pid())?;
    let first_report = server.report()?;
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
        let counts = super::trial::counts_of(&server.report()?.since(first_report));
        round.report_counts(more as u64, &[counts]);
    } else {
        round.trial_of(&test_bed.context, || {
            Ok(Timed { took: hold()?, operations: connections as u64, value: () }) // all but the first few
        })?;
        let after = ProcessTree::of(server.pid())?;
        let by_connection = |after: f64, before: f64| (after - before).max(0.0) / more as f64;
        let mut metric = |name, unit, value| {
            round.metric(name, unit, Direction::Lower, Combine::Median, value);
        };
        if let (Some(after), Some(before)) = (after.memory, before.memory) {
            metric("memory", "bytes", by_connection(after as f64, before as f64));
        }
        let grown = by_connection(after.processes as f64, before.processes as f64);
        metric("processes", "processes", grown);
        metric("threads", "threads", by_connection(after.threads as f64, before.threads as f64));
    }
    drop(generator);
    server.end_now()
}

/// A process takes most, an event loop least.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let arch = value_of(params, "arch").unwrap_or_default();
    match extent {
        Extent::Quick => is_here(params) && ["fork", "epoll", "kqueue", "iocp"].contains(&arch),
        _ => true,
    }
}

/// About how long a trial takes: the server is started, the connections are opened, memory is read of each of its
/// processes, and all of them end.
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
