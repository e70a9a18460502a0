//! The metrics of servers under load, and metrics derived from them.

use measure::metric::joined;
use measure::{Metric, Role, TIME, metrics};

metrics! {
    /// The metrics of every load.
    const OF_LOAD: [
        RATE = higher("rate", "replies/s").with(Role::SameAs(TIME.name)),
            "complete and correct replies per second";
        CONNECT_P50 = lower("connect-p50", "ns"), "half of the connections were established within this time";
        CONNECT_P99 = lower("connect-p99", "ns"), "99 of 100 connections were established within this time";
        REPLY_P50 = lower("reply-p50", "ns"),
            "half of the replies were complete within this time, from connect, or from the request on a persistent connection";
        REPLY_P90 = lower("reply-p90", "ns"), "nine of ten replies were complete within this time";
        REPLY_P99 = lower("reply-p99", "ns"), "99 of 100 replies were complete within this time";
        REPLY_WORST = lower("reply-worst", "ns"), "the longest time of any reply";
        SERVER_CPU = lower("server-cpu", "ns").with(Role::OwnCost),
            "CPU time of all processes of the server, per reply";
        SERVER_BUSY = neutral("server-busy", "CPUs"), "CPU time of the server divided by elapsed time";
        GENERATOR_CPU = neutral("generator-cpu", "ns"), "CPU time of the load generator, per reply";
        GENERATOR_BUSY = neutral("generator-busy", "share"),
            "the share of the time in which the generator was not waiting for events";
        VOLUNTARY_SWITCHES = lower("voluntary-switches", "switches"),
            "context switches of server threads that blocked, per reply";
        INVOLUNTARY_SWITCHES = lower("involuntary-switches", "switches"),
            "context switches of server threads that were preempted, per reply";
        ERRORS = lower("errors", "share").with(Role::Failures), "failed exchanges as a share of all exchanges";
        UNANSWERED = lower("unanswered", "ns"),
            "how long the oldest request that was unanswered at the end had been waiting";
    ]
}

metrics! {
    /// The metrics of idle connections.
    pub const HOLD: [
        MEMORY = lower("memory", "bytes").with(Role::OwnCost),
            "memory of all processes of the server, with page tables, per connection held";
        PROCESSES = lower("processes", "processes"), "processes of the server, per connection held";
        THREADS = lower("threads", "threads"), "threads of all processes of the server, per connection held";
    ]
}

metrics! {
    SLOW_SERVED = higher("slow-served", "share"),
        "replies to slow clients, as a share of the requests that they can send at their rate";
}

/// The metrics of a load beside slow clients.
pub const SLOW: &[Metric] = &joined::<16>(&[OF_LOAD, &[SLOW_SERVED]]);

metrics! {
    CAPACITY = higher("capacity", "replies/s"),
        "replies per second to 64 connections whose clients wait for them";
    OFFERED = neutral("offered", "requests/s"), "requests planned per second";
    GOODPUT = higher("goodput", "replies/s"),
        "requests answered before their clients give up, counted from the planned time, per second";
    KEPT = higher("kept", "share"),
        "goodput as a share of the capacity, or of the requests offered if these are fewer";
    REFUSED = lower("refused", "share"), "requests whose connection was refused or reset";
    GAVE_UP = lower("gave-up", "share"), "requests whose clients gave up before the reply";
    FAILED = lower("failed", "share"), "requests that failed in any other way";
    COLLAPSES_FROM = higher("collapses-from", "times capacity").with(Role::Derived),
        "the offered load from which goodput is below 80 % of the capacity";
}

/// The metrics of an overload. Each request is answered, refused, timed out or failed.
pub const OVERLOAD: &[Metric] = &[
    CAPACITY,
    OFFERED,
    GOODPUT,
    KEPT,
    REPLY_P50,
    REPLY_P99,
    REFUSED,
    GAVE_UP,
    FAILED,
    SERVER_BUSY,
    COLLAPSES_FROM,
];

metrics! {
    /// The metrics derived from several loads.
    const OF_LOADS: [
        FASTER_FROM = lower("faster-from", "connections").with(Role::Derived),
            "the number of connections from which an architecture has a higher rate than another";
        CHEAPER_FROM = lower("cheaper-from", "connections").with(Role::Derived),
            "the number of connections from which an architecture takes less CPU time per reply than another";
        FASTER_GROWTH = neutral("faster-growth", "times").with(Role::Derived),
            "the factor by which the ratio of the rates of two architectures grows with ten times the connections";
        CHEAPER_GROWTH = neutral("cheaper-growth", "times").with(Role::Derived),
            "the same for the ratio of their CPU times per reply";
    ]
}

/// The metrics of a load, and metrics derived from several loads.
pub const LOAD: &[Metric] = &joined::<19>(&[OF_LOAD, OF_LOADS]);
