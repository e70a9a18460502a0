//! The metrics of a delivery.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Metric, Role, TIME};

pub const RATE: Metric =
    Metric::higher("rate", "recipients/s", "recipients a second that were accepted")
        .with(Role::SameAs(TIME.name));
pub const TRANSACTIONS: Metric = Metric::higher(
    "transactions",
    "transactions/s",
    "transactions a second, each with up to 100 recipients of a domain",
);
pub const CONNECTIONS: Metric =
    Metric::neutral("connections", "connections/s", "connections a second that were made");
pub const OPEN: Metric =
    Metric::neutral("open", "connections", "the most connections that were open at a time");
pub const ROUND_TRIPS: Metric = Metric::lower(
    "round-trips",
    "round trips",
    "groups of commands for each of which a reply was waited for, by transaction",
);
pub const GREETING_P50: Metric = Metric::lower(
    "greeting-p50",
    "ns",
    "from connecting to the server's greeting: half of the connections",
);
pub const GREETING_P99: Metric =
    Metric::lower("greeting-p99", "ns", "the same: 99 of 100 connections");
pub const EHLO_P50: Metric =
    Metric::lower("ehlo-p50", "ns", "from EHLO to its reply: half of the connections");
pub const EHLO_P99: Metric = Metric::lower("ehlo-p99", "ns", "the same: 99 of 100 connections");
pub const RSET_P50: Metric = Metric::lower(
    "rset-p50",
    "ns",
    "from sending a transaction, with the RSET after it, to the last reply: half of those that another follows",
);
pub const RSET_P99: Metric = Metric::lower("rset-p99", "ns", "the same: 99 of 100 of them");
pub const QUIT_P50: Metric = Metric::lower(
    "quit-p50",
    "ns",
    "the same with QUIT: half of the connections' last transactions",
);
pub const QUIT_P99: Metric = Metric::lower("quit-p99", "ns", "the same: 99 of 100 of them");
pub const SENDER_CPU: Metric =
    Metric::lower("sender-cpu", "ns", "CPU time of the sender and all its processes, by recipient")
        .with(Role::OwnCost);
pub const SENDER_BUSY: Metric =
    Metric::neutral("sender-busy", "share", "the share of its CPU's time that the sender used");
pub const SINK_CPU: Metric =
    Metric::neutral("sink-cpu", "ns", "CPU time of the sink, by recipient");
pub const SINK_BUSY: Metric =
    Metric::neutral("sink-busy", "share", "the share of its CPU's time that the sink used");
pub const MEMORY: Metric = Metric::lower(
    "memory",
    "bytes",
    "memory of the sender and all its processes at the end of the counted time, with the list and page tables",
).with(Role::OwnCost);
pub const VOLUNTARY_SWITCHES: Metric = Metric::lower(
    "voluntary-switches",
    "switches",
    "times the sender gave up its CPU, to wait, by recipient",
);
pub const INVOLUNTARY_SWITCHES: Metric = Metric::lower(
    "involuntary-switches",
    "switches",
    "times the sender was preempted, by recipient",
);

/// All of them.
pub const ALL: &[Metric] = &[
    RATE,
    TRANSACTIONS,
    CONNECTIONS,
    OPEN,
    ROUND_TRIPS,
    GREETING_P50,
    GREETING_P99,
    EHLO_P50,
    EHLO_P99,
    RSET_P50,
    RSET_P99,
    QUIT_P50,
    QUIT_P99,
    SENDER_CPU,
    SENDER_BUSY,
    SINK_CPU,
    SINK_BUSY,
    MEMORY,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
];
