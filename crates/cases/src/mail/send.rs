use std::time::Duration;

use measure::{CaseError, Params, Round};

use super::metrics;
use super::trial;
use crate::{Case, Extent, Only, Param, Takes, Trials, count_of, value_of};

pub const CASE: Case = Case {
    area: "mail",
    name: "send",
    operation: "A recipient of a list accepted by the server of its domain, over SMTP in test mode: RCPT TO was \
                answered with 250, and RSET came where the message would.",
    comparable_to: "`smtp-source` sends to one server without a list or a queue. The time is that of the sender as a \
            whole: divided by it, all connections together.",
    only: Only::Everywhere,
    core_bound: false,
    // Five: with trials this long, more points tell more.
    trials: Some(Trials { takes, only_by: None, counted: true, at_most: 5, includes }),
    params: &[
        Param {
            name: "arch",
            meaning: "how the sender carries connections: an event loop over the best means to wait (epoll on Linux) \
                      or over poll (WSAPoll on Windows; but for Linux both are the same), a thread or a process for each",
            default: &["loop", "poll", "threads", "processes"],
            full: &["loop", "poll", "threads", "processes"],
            takes: Takes::Words(&[]),
        },
        Param {
            name: "connections",
            meaning: "how many connections there may be at a time, 20 of them to one domain",
            // At one connection nothing is busy, and all architectures wait alike.
            default: &["100", "1500"],
            full: &["1", "10", "100", "500", "1000", "1500", "2000", "2500", "5000"],
            takes: Takes::Count(10_000),
        },
        Param {
            name: "delay",
            meaning: "how long the sink holds its greeting back and its replies to EHLO and MAIL, each the first of a \
                      group, as a network with such round trips would; without it the CPU is the limit, and more \
                      connections are of no use",
            default: &["0", "10ms"],
            full: &["0", "10ms"],
            takes: Takes::Words(&["1ms", "50ms", "200ms"]),
        },
        Param {
            name: "recipients",
            meaning: "how many recipients are on the list",
            default: &["200000"],
            full: &["200000"],
            takes: Takes::Count(2_000_000),
        },
        Param {
            name: "domains",
            meaning: "in how many domains they are: the n-th largest has an n-th of the largest's recipients",
            default: &["9113"],
            full: &["9113"],
            takes: Takes::Count(200_000),
        },
    ],
    metrics: metrics::ALL,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    trial::run(params, round)
}

/// The questions of an ordinary run are what it costs to send, which is seen where nothing is held back; and how many
/// connections make up for a network's round trips, with each architecture. Without a delay one number of connections
/// tells as much as all; `poll` differs from `loop`, and `threads` from both, only where many wait.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    let arch = value_of(params, "arch").unwrap_or_default();
    let is_delayed = value_of(params, "delay") != Ok("0");
    let is_extreme = ["loop", "processes"].contains(&arch);
    match (extent, is_delayed, connections) {
        (Extent::Full, _, _) => true,
        (Extent::Ordinary, false, 100) => arch != "poll",
        (Extent::Ordinary, true, 100) => is_extreme,
        (Extent::Ordinary, true, 1_500) => true,
        (Extent::Quick, false, 100) => is_extreme,
        _ => false,
    }
}

/// About how long a trial takes.
pub fn takes(params: &Params) -> Duration {
    let connections = count_of(params, "connections").unwrap_or(1);
    let recipients = count_of(params, "recipients").unwrap_or(1);
    let end = match value_of(params, "arch") {
        Ok("processes") => Duration::from_micros(200),
        Ok("threads") => Duration::from_micros(40),
        _ => Duration::from_micros(20),
    };
    trial::takes(recipients, connections, end)
}
