//! The metrics of a delivery.

#![allow(missing_docs, reason = "the text of each metric documents it")]

use measure::{Metric, Role, TIME};

pub const RATE: Metric = Metric::higher("rate", "recipients/s", "accepted recipients per second")
    .with(Role::SameAs(TIME.name));
pub const TRANSACTIONS: Metric = Metric::higher(
    "transactions",
    "transactions/s",
    "SMTP transactions per second, each with up to 100 recipients of a domain",
);
pub const CONNECTIONS: Metric =
    Metric::neutral("connections", "connections/s", "connections established per second");
pub const OPEN: Metric =
    Metric::neutral("open", "connections", "the maximum number of connections open at once");
pub const ROUND_TRIPS: Metric = Metric::lower(
    "round-trips",
    "round trips",
    "round trips per transaction: groups of pipelined commands whose replies the sender waited for",
);
pub const GREETING_P50: Metric = Metric::lower(
    "greeting-p50",
    "ns",
    "half of the connections received the server's greeting within this time from connect",
);
pub const GREETING_P99: Metric = Metric::lower(
    "greeting-p99",
    "ns",
    "99 of 100 connections received the greeting within this time",
);
pub const EHLO_P50: Metric = Metric::lower(
    "ehlo-p50",
    "ns",
    "half of the connections received the reply to EHLO within this time",
);
pub const EHLO_P99: Metric = Metric::lower(
    "ehlo-p99",
    "ns",
    "99 of 100 connections received the reply to EHLO within this time",
);
pub const RSET_P50: Metric = Metric::lower(
    "rset-p50",
    "ns",
    "half of the transactions that another one follows were answered within this time, including their RSET",
);
pub const RSET_P99: Metric =
    Metric::lower("rset-p99", "ns", "99 of 100 such transactions were answered within this time");
pub const QUIT_P50: Metric = Metric::lower(
    "quit-p50",
    "ns",
    "half of the last transactions of a connection were answered within this time, including QUIT",
);
pub const QUIT_P99: Metric =
    Metric::lower("quit-p99", "ns", "99 of 100 such transactions were answered within this time");
pub const SENDER_CPU: Metric =
    Metric::lower("sender-cpu", "ns", "CPU time of all processes of the sender, per recipient")
        .with(Role::OwnCost);
pub const SENDER_BUSY: Metric =
    Metric::neutral("sender-busy", "share", "CPU time of the sender divided by elapsed time");
pub const SINK_CPU: Metric =
    Metric::neutral("sink-cpu", "ns", "CPU time of the sink, per recipient");
pub const SINK_BUSY: Metric =
    Metric::neutral("sink-busy", "share", "CPU time of the sink divided by elapsed time");
pub const MEMORY: Metric = Metric::lower(
    "memory",
    "bytes",
    "memory of all processes of the sender at the end of the counted time, with the list and page tables",
).with(Role::OwnCost);
pub const VOLUNTARY_SWITCHES: Metric = Metric::lower(
    "voluntary-switches",
    "switches",
    "context switches of sender threads that blocked, per recipient",
);
pub const INVOLUNTARY_SWITCHES: Metric = Metric::lower(
    "involuntary-switches",
    "switches",
    "context switches of sender threads that were preempted, per recipient",
);

pub const KNEE: Metric = Metric::lower(
    "knee",
    "connections",
    "the number of connections from which the rate is at least 90 % of its level with many",
)
.with(Role::Derived);

/// All metrics of a delivery, and those derived from several.
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
    KNEE,
];
