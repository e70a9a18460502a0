//! A simulated run of the area `mail` with points of all kinds: rates follow from the CPU time per recipient, or from the number
//! of connections and their waiting time.

use std::collections::BTreeMap;

use measure::Doubt;
use results::{CaseResult, Direction, Outcome, PerOp};
use simulated::evenly;

const ROUNDS: usize = 5;
const CASE: &str = "mail/send";
pub const LEVELS: [u32; 9] = [1, 10, 100, 500, 1000, 1500, 2000, 2500, 5000];

/// An architecture: CPU time per recipient in ns, calls, and additional memory of the sender per connection.
struct Manner {
    arch: &'static str,
    cpu: f64,
    calls: f64,
    memory: f64,
}

const MANNERS: [Manner; 4] = [
    Manner { arch: "loop", cpu: 1.31e3, calls: 0.42, memory: 4.1e3 },
    Manner { arch: "poll", cpu: 1.62e3, calls: 0.37, memory: 4.1e3 },
    Manner { arch: "threads", cpu: 4.87e3, calls: 1.22, memory: 71e3 },
    Manner { arch: "processes", cpu: 32.4e3, calls: 3.61, memory: 310e3 },
];

fn params(arch: &str, connections: u32, delay: &str) -> BTreeMap<String, String> {
    let connections = connections.to_string();
    let list = [
        ("arch", arch),
        ("connections", &connections),
        ("delay", delay),
        ("domains", "9113"),
        ("recipients", "200000"),
    ];
    simulated::params(&list)
}

/// A metric whose rounds lie evenly within `relative` of `value`.
fn figure(
    of: &BTreeMap<String, String>,
    (metric, unit): (&str, &str),
    value: f64,
    relative: f64,
) -> CaseResult {
    areas::install();
    let better = if metric == "rate" { Direction::Higher } else { Direction::Lower };
    let nth = of["arch"].len() + of["connections"].len();
    evenly((CASE, of), (metric, unit, better), [value, relative], [ROUNDS, 3, nth])
}

/// One point. The sink accepts 900,000 recipients per second; a transaction has 20 recipients, and a connection 1.1 transactions.
fn point(manner: &Manner, connections: u32, delay_ms: f64) -> Vec<CaseResult> {
    const SINK: f64 = 900e3;
    let of = params(manner.arch, connections, if delay_ms > 0.0 { "10ms" } else { "0" });
    let one = |metric: &str, unit: &str, value: f64, relative: f64| {
        figure(&of, (metric, unit), value, relative)
    };
    let round_trip_s = delay_ms / 1e3 + 1e-4;
    let waiting = f64::from(connections) * 20.0 / (2.9 * round_trip_s);
    let rate = waiting.min(1e9 / manner.cpu).min(SINK);
    let wait_ns = f64::from(connections) * 20.0 / 2.9 / rate * 1e9;
    let mut time = one("time", "ns/op", 1e9 / rate, 0.02);
    time.per_op = Some(PerOp { syscalls: Some(manner.calls), ..PerOp::default() });
    if rate == SINK {
        time.doubts.push(Doubt::ReceiverSaturated);
    }
    let open =
        f64::from(if manner.arch == "processes" { connections.min(64) } else { connections });
    vec![
        time,
        one("rate", "recipients/s", rate, 0.02),
        one("transactions", "transactions/s", rate / 20.0, 0.02),
        one("connections", "connections/s", rate / 22.0, 0.02),
        one("open", "connections", open, 0.0),
        one("round-trips", "round trips", 1.91, 0.01),
        one("greeting-p50", "ns", wait_ns * 0.9, 0.03),
        one("greeting-p99", "ns", wait_ns * 2.6, 0.1),
        one("ehlo-p50", "ns", wait_ns, 0.03),
        one("ehlo-p99", "ns", wait_ns * 2.4, 0.1),
        one("quit-p50", "ns", wait_ns * 1.1, 0.03),
        one("quit-p99", "ns", wait_ns * 2.9, 0.1),
        one("sender-cpu", "ns", manner.cpu, 0.012),
        one("sender-busy", "share", rate * manner.cpu / 1e9, 0.01),
        one("sink-busy", "share", rate / SINK, 0.01),
        one("memory", "bytes", 22e6 + manner.memory * open, 0.01),
        one("voluntary-switches", "switches", manner.calls / 9.0, 0.1),
    ]
}

fn ended(arch: &str, connections: u32, delay: &str, outcome: Outcome, why: &str) -> CaseResult {
    areas::install();
    simulated::ended((CASE, &params(arch, connections, delay)), outcome, why)
}

/// A default run.
pub fn ordinary() -> Vec<CaseResult> {
    let of_manner = |manner: &Manner| {
        let delayed = [1, 100, 1500].map(|connections| point(manner, connections, 10.0));
        [point(manner, 100, 0.0), delayed.concat()].concat()
    };
    MANNERS.iter().flat_map(of_manner).collect()
}

/// A run at all levels on a system without fork or with too few descriptors, and with failures.
pub fn full() -> Vec<CaseResult> {
    let of_manner = |manner: &Manner| {
        let of_delay = |delay: f64| LEVELS.map(|n| point(manner, n, delay)).concat();
        [of_delay(0.0), of_delay(10.0)].concat()
    };
    let quick = Manner { arch: "loop", cpu: 0.91e3, calls: 0.42, memory: 4.1e3 };
    let mut results: Vec<CaseResult> =
        [&quick, &MANNERS[2]].into_iter().flat_map(of_manner).collect();
    for result in &mut results {
        let level: u32 = result.params["connections"].parse().expect("a number");
        if result.metric == "time" && result.params["arch"] == "threads" && level >= 2500 {
            result.doubts.push(Doubt::SenderShortage);
        }
    }
    results.retain(|r| (&r.params["arch"][..], &r.params["connections"][..]) != ("loop", "5000"));
    let why = "5000 connections need 5164 descriptors, and the limit per process is 4096: \
               `ulimit -n 5164` as root raises it";
    let no_fork = "there is no fork on this system";
    for delay in ["0", "10ms"] {
        results.push(ended("loop", 5000, delay, Outcome::Unsupported, why));
        let of_level = |n| ended("processes", n, delay, Outcome::Unsupported, no_fork);
        results.extend(LEVELS.map(of_level));
    }
    results
}
