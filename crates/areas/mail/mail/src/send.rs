use std::time::Duration;

use measure::Params;

use super::metrics;
use super::trial;
use catalog::{Case, Extent, Param, Takes, Trials, count_of, value_of};

pub const CASE: Case = Case {
    operation: "One recipient accepted by the server of its domain over SMTP: RCPT TO is answered with 250, \
                and in test mode (`message=none`) RSET replaces DATA and the message.",
    comparable_to: "Postfix's `smtp-source` sends to one server without a list or a queue; postal \
                sends whole messages. The time is elapsed time per recipient of the sender as a \
                whole, with all its connections together.",
    // Six trials are the fewest that can decide a comparison: with trials this long, more points are more informative than more
    // trials.
    trials: Some(Trials {
        counted: true,
        on_host: true,
        at_most: 6,
        includes,
        ..Trials::new(takes)
    }),
    params: &[
        Param::new("arch", &["loop", "poll", "threads", "processes"]).meaning(
            "how the sender drives its connections: an event loop over the system's best \
             readiness call (epoll on Linux) or over poll (WSAPoll on Windows; the same as \
             the former except on Linux), a thread per connection, or a process per \
             connection",
        ),
        // One connection is left out: it keeps neither CPU busy, and all architectures wait in the same way.
        Param::new("connections", &["100", "1500"])
            .meaning("the maximum number of connections at once, at most 20 of them to one domain")
            .full(&["1", "10", "100", "500", "1000", "1500", "2000", "2500", "5000"])
            .takes(Takes::Count(10_000)),
        Param::new("delay", &["0", "10ms"])
            .meaning(
                "how long the sink delays its greeting and its replies to EHLO and MAIL, each \
                 the first of a group, as a network with this round-trip time would; without a \
                 delay the CPU is the bottleneck, and more connections do not help",
            )
            .takes(Takes::Words(&["1ms", "50ms", "200ms"])),
        Param::new("recipients", &["200000"])
            .meaning("the number of recipients in the list")
            .takes(Takes::Count(2_000_000)),
        Param::new("domains", &["9113"])
            .meaning(
                "the number of their domains: the n-th largest domain has 1/n of the recipients \
                 of the largest",
            )
            .takes(Takes::Count(200_000)),
        Param::new("message", &["none", "4k"])
            .meaning(
                "the size of the message that is sent to each recipient; with none, RSET \
                 replaces it (test mode)",
            )
            .full(&["none", "4k", "64k"])
            .takes(Takes::Words(&["1k", "16k", "1m"])),
    ],
    metrics: metrics::ALL,
    run: trial::run,
    ..Case::new("mail", "send")
};

/// Whether a run of this extent measures the point. A default run shows the cost of sending, without a delay, and the number of
/// connections that compensates for the round trips of a network, for each architecture. Without a delay one number of
/// connections suffices; `threads` differs from the other architectures only with many connections, and `poll` little from
/// `loop`.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let connections = count_of(params, "connections").unwrap_or(0);
    let arch = value_of(params, "arch").unwrap_or_default();
    let is_delayed = value_of(params, "delay") != Ok("0");
    let is_extreme = ["loop", "processes"].contains(&arch);
    if value_of(params, "message") != Ok("none") {
        // A default run shows the cost of the message relative to the rest of the delivery.
        let is_plain = !is_delayed && connections == 100 && arch == "loop";
        return is_plain
            && (extent == Extent::Full || value_of(params, "message") == Ok("4k"))
            && extent != Extent::Quick;
    }
    match (extent, is_delayed, connections) {
        (Extent::Full, _, _) => true,
        (Extent::Ordinary, _, 100) => is_extreme,
        (Extent::Ordinary, true, 1_500) => arch != "poll",
        (Extent::Quick, false, 100) => is_extreme,
        _ => false,
    }
}

/// The approximate duration of a trial.
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
