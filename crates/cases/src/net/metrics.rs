//! The metrics of servers under load, and what follows from them.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Metric, Role, TIME};

pub const RATE: Metric =
    Metric::higher("rate", "replies/s", "replies a second, complete and correct")
        .with(Role::SameAs(TIME.name));
pub const CONNECT_P50: Metric =
    Metric::lower("connect-p50", "ns", "half of the connections were established within this time");
pub const CONNECT_P99: Metric =
    Metric::lower("connect-p99", "ns", "99 of 100 connections were established within this time");
pub const REPLY_P50: Metric = Metric::lower(
    "reply-p50",
    "ns",
    "half of the replies were complete within this time from the request for the connection, or for the reply where \
     the connection stays",
);
pub const REPLY_P90: Metric =
    Metric::lower("reply-p90", "ns", "nine of ten replies were complete within this time");
pub const REPLY_P99: Metric =
    Metric::lower("reply-p99", "ns", "99 of 100 replies were complete within this time");
pub const REPLY_WORST: Metric = Metric::lower("reply-worst", "ns", "the longest time of any reply");
pub const SERVER_CPU: Metric =
    Metric::lower("server-cpu", "ns", "CPU time of the server and all its processes, by reply")
        .with(Role::OwnCost);
pub const SERVER_BUSY: Metric =
    Metric::neutral("server-busy", "CPUs", "CPUs that the server kept busy");
pub const GENERATOR_CPU: Metric =
    Metric::neutral("generator-cpu", "ns", "CPU time of the load generator, by reply");
pub const GENERATOR_BUSY: Metric = Metric::neutral(
    "generator-busy",
    "share",
    "the share of the time in which the generator was not waiting",
);
pub const VOLUNTARY_SWITCHES: Metric = Metric::lower(
    "voluntary-switches",
    "switches",
    "times the server gave up its CPU, to wait, by reply",
);
pub const INVOLUNTARY_SWITCHES: Metric =
    Metric::lower("involuntary-switches", "switches", "times the server was preempted, by reply");
pub const ERRORS: Metric =
    Metric::lower("errors", "share", "failed exchanges, as a share of all").with(Role::Failures);
pub const UNANSWERED: Metric = Metric::lower(
    "unanswered",
    "ns",
    "how long the oldest of the requests under way at the end had been waiting",
);

/// The metrics of a load, and what is derived from several.
pub const LOAD: &[Metric] = &[
    RATE,
    CONNECT_P50,
    CONNECT_P99,
    REPLY_P50,
    REPLY_P90,
    REPLY_P99,
    REPLY_WORST,
    SERVER_CPU,
    SERVER_BUSY,
    GENERATOR_CPU,
    GENERATOR_BUSY,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    ERRORS,
    UNANSWERED,
    FASTER_FROM,
    CHEAPER_FROM,
];

pub const MEMORY: Metric = Metric::lower(
    "memory",
    "bytes",
    "memory of the server and all its processes, with page tables, by connection held",
)
.with(Role::OwnCost);
pub const PROCESSES: Metric =
    Metric::lower("processes", "processes", "processes of the server, by connection held");
pub const THREADS: Metric =
    Metric::lower("threads", "threads", "threads of all its processes, by connection held");

/// The metrics of connections that are held.
pub const HOLD: &[Metric] = &[MEMORY, PROCESSES, THREADS];

pub const FASTER_FROM: Metric = Metric::lower(
    "faster-from",
    "connections",
    "from how many connections on an architecture answers more than another",
)
.with(Role::Derived);
pub const CHEAPER_FROM: Metric = Metric::lower(
    "cheaper-from",
    "connections",
    "from how many connections on an architecture answers with less CPU time than another",
)
.with(Role::Derived);
