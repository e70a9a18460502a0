//! The metrics of servers under load, and metrics derived from them.

#![allow(missing_docs, reason = "the text of each metric documents it")]

use measure::{Metric, Role, TIME};

pub const RATE: Metric =
    Metric::higher("rate", "replies/s", "complete and correct replies per second")
        .with(Role::SameAs(TIME.name));
pub const CONNECT_P50: Metric =
    Metric::lower("connect-p50", "ns", "half of the connections were established within this time");
pub const CONNECT_P99: Metric =
    Metric::lower("connect-p99", "ns", "99 of 100 connections were established within this time");
pub const REPLY_P50: Metric = Metric::lower(
    "reply-p50",
    "ns",
    "half of the replies were complete within this time, from connect, or from the request on a persistent connection",
);
pub const REPLY_P90: Metric =
    Metric::lower("reply-p90", "ns", "nine of ten replies were complete within this time");
pub const REPLY_P99: Metric =
    Metric::lower("reply-p99", "ns", "99 of 100 replies were complete within this time");
pub const REPLY_WORST: Metric = Metric::lower("reply-worst", "ns", "the longest time of any reply");
pub const SERVER_CPU: Metric =
    Metric::lower("server-cpu", "ns", "CPU time of all processes of the server, per reply")
        .with(Role::OwnCost);
pub const SERVER_BUSY: Metric =
    Metric::neutral("server-busy", "CPUs", "CPU time of the server divided by elapsed time");
pub const GENERATOR_CPU: Metric =
    Metric::neutral("generator-cpu", "ns", "CPU time of the load generator, per reply");
pub const GENERATOR_BUSY: Metric = Metric::neutral(
    "generator-busy",
    "share",
    "the share of the time in which the generator was not waiting for events",
);
pub const VOLUNTARY_SWITCHES: Metric = Metric::lower(
    "voluntary-switches",
    "switches",
    "context switches of server threads that blocked, per reply",
);
pub const INVOLUNTARY_SWITCHES: Metric = Metric::lower(
    "involuntary-switches",
    "switches",
    "context switches of server threads that were preempted, per reply",
);
pub const ERRORS: Metric =
    Metric::lower("errors", "share", "failed exchanges as a share of all exchanges")
        .with(Role::Failures);
pub const UNANSWERED: Metric = Metric::lower(
    "unanswered",
    "ns",
    "how long the oldest request that was unanswered at the end had been waiting",
);

/// The metrics of every load.
const OF_LOAD: [Metric; 15] = [
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
];

/// The metrics of every load, then these. Compilation fails unless there are `N`.
const fn of_load_and<const N: usize>(others: &[Metric]) -> [Metric; N] {
    assert!(N == OF_LOAD.len() + others.len(), "N is wrong");
    let mut all = [RATE; N];
    let mut nth = 0;
    while nth < N {
        let is_of_load = nth < OF_LOAD.len();
        all[nth] = if is_of_load { OF_LOAD[nth] } else { others[nth - OF_LOAD.len()] };
        nth += 1;
    }
    all
}

/// The metrics of a load, and metrics derived from several loads.
pub const LOAD: &[Metric] =
    &of_load_and::<19>(&[FASTER_FROM, CHEAPER_FROM, FASTER_GROWTH, CHEAPER_GROWTH]);

pub const MEMORY: Metric = Metric::lower(
    "memory",
    "bytes",
    "memory of all processes of the server, with page tables, per connection held",
)
.with(Role::OwnCost);
pub const PROCESSES: Metric =
    Metric::lower("processes", "processes", "processes of the server, per connection held");
pub const THREADS: Metric = Metric::lower(
    "threads",
    "threads",
    "threads of all processes of the server, per connection held",
);

/// The metrics of idle connections.
pub const HOLD: &[Metric] = &[MEMORY, PROCESSES, THREADS];

pub const SLOW_SERVED: Metric = Metric::higher(
    "slow-served",
    "share",
    "replies to slow clients, as a share of the requests that they can send at their rate",
);

/// The metrics of a load beside slow clients.
pub const SLOW: &[Metric] = &of_load_and::<16>(&[SLOW_SERVED]);

pub const CAPACITY: Metric = Metric::higher(
    "capacity",
    "replies/s",
    "replies per second to 64 connections whose clients wait for them",
);
pub const OFFERED: Metric = Metric::neutral("offered", "requests/s", "requests planned per second");
pub const GOODPUT: Metric = Metric::higher(
    "goodput",
    "replies/s",
    "requests answered before their clients give up, counted from the planned time, per second",
);
pub const KEPT: Metric = Metric::higher(
    "kept",
    "share",
    "goodput as a share of the capacity, or of the requests offered if these are fewer",
);
pub const REFUSED: Metric =
    Metric::lower("refused", "share", "requests whose connection was refused or reset");
pub const GAVE_UP: Metric =
    Metric::lower("gave-up", "share", "requests whose clients gave up before the reply");
pub const FAILED: Metric =
    Metric::lower("failed", "share", "requests that failed in any other way");
pub const COLLAPSES_FROM: Metric = Metric::higher(
    "collapses-from",
    "times capacity",
    "the offered load from which goodput is below 80 % of the capacity",
)
.with(Role::Derived);

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

pub const FASTER_FROM: Metric = Metric::lower(
    "faster-from",
    "connections",
    "the number of connections from which an architecture has a higher rate than another",
)
.with(Role::Derived);
pub const CHEAPER_FROM: Metric = Metric::lower(
    "cheaper-from",
    "connections",
    "the number of connections from which an architecture takes less CPU time per reply than another",
)
.with(Role::Derived);

pub const FASTER_GROWTH: Metric = Metric::neutral(
    "faster-growth",
    "times",
    "the factor by which the ratio of the rates of two architectures grows with ten times the connections",
)
.with(Role::Derived);
pub const CHEAPER_GROWTH: Metric = Metric::neutral(
    "cheaper-growth",
    "times",
    "the same for the ratio of their CPU times per reply",
)
.with(Role::Derived);
