//! The metrics of a delivery.

use measure::{Role, TIME, metrics};

metrics! {
    /// All metrics of a delivery, and those derived from several deliveries.
    pub const ALL: [
        RATE = higher("rate", "recipients/s").with(Role::SameAs(TIME.name)), "accepted recipients per second";
        TRANSACTIONS = higher("transactions", "transactions/s"),
            "SMTP transactions per second, each with up to 100 recipients of a domain";
        CONNECTIONS = neutral("connections", "connections/s"), "connections established per second";
        OPEN = neutral("open", "connections"), "the maximum number of connections open at once";
        ROUND_TRIPS = lower("round-trips", "round trips"),
            "round trips per transaction: groups of pipelined commands whose replies the sender waited for";
        GREETING_P50 = lower("greeting-p50", "ns"),
            "half of the connections received the server's greeting within this time from connect";
        GREETING_P99 = lower("greeting-p99", "ns"),
            "99 of 100 connections received the greeting within this time";
        EHLO_P50 = lower("ehlo-p50", "ns"), "half of the connections received the reply to EHLO within this time";
        EHLO_P99 = lower("ehlo-p99", "ns"), "99 of 100 connections received the reply to EHLO within this time";
        RSET_P50 = lower("rset-p50", "ns"),
            "half of the transactions that another one follows were answered within this time, including their RSET";
        RSET_P99 = lower("rset-p99", "ns"), "99 of 100 such transactions were answered within this time";
        QUIT_P50 = lower("quit-p50", "ns"),
            "half of the last transactions of a connection were answered within this time, including QUIT";
        QUIT_P99 = lower("quit-p99", "ns"), "99 of 100 such transactions were answered within this time";
        SENDER_CPU = lower("sender-cpu", "ns").with(Role::OwnCost),
            "CPU time of all processes of the sender, per recipient";
        SENDER_BUSY = neutral("sender-busy", "share"), "CPU time of the sender divided by elapsed time";
        SINK_CPU = neutral("sink-cpu", "ns"), "CPU time of the sink, per recipient";
        SINK_BUSY = neutral("sink-busy", "share"), "CPU time of the sink divided by elapsed time";
        MEMORY = lower("memory", "bytes").with(Role::OwnCost),
            "memory of all processes of the sender at the end of the counted time, with the list and page tables";
        VOLUNTARY_SWITCHES = lower("voluntary-switches", "switches"),
            "context switches of sender threads that blocked, per recipient";
        INVOLUNTARY_SWITCHES = lower("involuntary-switches", "switches"),
            "context switches of sender threads that were preempted, per recipient";
        KNEE = lower("knee", "connections").with(Role::Derived),
            "the number of connections from which the rate is at least 90 % of its level with many";
    ]
}
