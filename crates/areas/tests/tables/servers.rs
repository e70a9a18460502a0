//! A simulated run of the area `net` with points of all kinds: rates follow from the cost of a connection for the
//! server, and from the maximum rate of the load generator.

use std::collections::BTreeMap;

use measure::Doubt;
use results::{CaseResult, Direction, Outcome, PerOp};
use simulated::evenly;

const ROUNDS: usize = 6;
pub const LEVELS: [u32; 8] = [1, 10, 100, 500, 1000, 1500, 2500, 5000];

/// Maximum rate of the generator per second.
const GENERATOR: f64 = 62e3;

/// An architecture: CPU time per connection in ns, additional time per connection in flight, calls, switches, memory.
struct Manner {
    arch: &'static str,
    cpu: f64,
    per_other: f64,
    calls: f64,
    switches: [f64; 2],
    memory: f64,
}

const MANNERS: [Manner; 9] = {
    const fn manner(arch: &'static str, cpu: f64, per_other: f64, calls: f64) -> Manner {
        Manner { arch, cpu, per_other, calls, switches: [1.0, 0.02], memory: 420.0 }
    }
    [
        Manner { switches: [1.9, 1.31], memory: 212e3, ..manner("fork", 132e3, 3.0, 12.4) },
        Manner { switches: [3.1, 1.64], memory: 910e3, ..manner("exec", 1.62e6, 20.0, 118.0) },
        manner("prefork", 14.1e3, 0.4, 4.0),
        Manner { switches: [1.0, 0.44], memory: 19.2e3, ..manner("threads", 31e3, 0.5, 20.1) },
        manner("pool", 17.3e3, 0.3, 6.2),
        manner("poll", 8.9e3, 14.0, 3.6),
        manner("epoll", 10.4e3, 0.1, 4.5),
        Manner { switches: [0.71, 0.01], ..manner("io_uring", 9.1e3, 0.05, 1.24) },
        manner("tokio", 15.8e3, 0.1, 5.5),
    ]
};

fn params(arch: &str, connections: u32) -> BTreeMap<String, String> {
    let connections = connections.to_string();
    let list = [
        ("arch", arch),
        ("connections", &connections),
        ("network", "loopback"),
        ("place", "apart"),
    ];
    simulated::params(&list)
}

/// A metric whose rounds lie evenly within `relative` of `value`.
fn figure(
    case: &str,
    of: &BTreeMap<String, String>,
    (metric, unit): (&str, &str),
    value: f64,
    relative: f64,
) -> CaseResult {
    areas::install();
    let better = if metric == "rate" { Direction::Higher } else { Direction::Lower };
    // The pattern of disturbance differs between architectures.
    let nth = of["arch"].len() + of["connections"].len();
    evenly((case, of), (metric, unit, better), [value, relative], [ROUNDS, 5, nth])
}

fn load(case: &str, manner: &Manner, connections: u32, generator: f64) -> Vec<CaseResult> {
    let of = params(manner.arch, connections);
    let cpu = manner.cpu + manner.per_other * f64::from(connections - 1);
    let asked = if connections == 1 { 1e9 / (cpu + 13e3) } else { 1e9 / cpu };
    let rate = asked.min(generator);
    let reply = f64::from(connections) * 1e9 / rate;
    let one = |metric: &str, unit: &str, value: f64, relative: f64| {
        figure(case, &of, (metric, unit), value, relative)
    };
    let [voluntary, involuntary] = manner.switches;
    let mut time = one("time", "ns/op", 1e9 / rate, 0.021);
    time.per_op = Some(PerOp { syscalls: Some(manner.calls), ..PerOp::default() });
    if asked > generator {
        time.doubts.push(Doubt::ClientSaturated);
    }
    vec![
        time,
        one("rate", "replies/s", rate, 0.021),
        one("reply-p50", "ns", reply * 0.93, 0.03),
        one("reply-p99", "ns", reply * 1.6 + 22e3, 0.18),
        one("server-cpu", "ns", cpu, 0.012),
        one("voluntary-switches", "switches", voluntary, 0.1),
        one("involuntary-switches", "switches", involuntary, 0.2),
        one("generator-busy", "share", (rate / generator).min(0.99), 0.01),
        one("errors", "share", 0.0, 0.0),
    ]
}

fn ended(case: &str, arch: &str, connections: u32, outcome: Outcome, why: &str) -> CaseResult {
    areas::install();
    simulated::ended((case, &params(arch, connections)), outcome, why)
}

fn doubt(results: &mut [CaseResult], arch: &str, from: u32, why: Doubt) {
    for result in results.iter_mut().filter(|r| r.metric == "time" && r.params["arch"] == arch) {
        if result.params["connections"].parse::<u32>().is_ok_and(|n| n >= from) {
            result.doubts.push(why.clone());
        }
    }
}

const NO_WINDOWS: &str = "there is none on Linux";

/// `net/answer` on Linux, with points of every outcome and derived results.
pub fn answer() -> Vec<CaseResult> {
    let case = "net/answer";
    let mut results = Vec::new();
    for manner in &MANNERS {
        for connections in LEVELS {
            match (manner.arch, connections) {
                ("exec", 101..) => {}
                ("fork", 5000) => {
                    let why = "no reply: 5000 connections were refused";
                    results.push(ended(case, "fork", 5000, Outcome::Failed, why));
                }
                ("prefork", 5000) => {
                    let why = "it did not end within 20 s";
                    results.push(ended(case, "prefork", 5000, Outcome::TimedOut, why));
                }
                ("tokio", 5000) => {
                    let why = "5000 connections need 5064 descriptors, and the limit per process is 4096: \
                               `ulimit -n 5064` as root raises it";
                    results.push(ended(case, "tokio", 5000, Outcome::Unsupported, why));
                }
                _ => results.extend(load(case, manner, connections, GENERATOR)),
            }
        }
    }
    for arch in ["wsapoll", "iocp"] {
        results.extend(LEVELS.map(|n| ended(case, arch, n, Outcome::Unsupported, NO_WINDOWS)));
    }
    doubt(&mut results, "fork", 2500, Doubt::ServerLacksProcess);
    doubt(&mut results, "threads", 5000, Doubt::ServerLacksProcess);
    doubt(&mut results, "poll", 2500, Doubt::ConnectionsReset);
    doubt(&mut results, "pool", 5000, Doubt::AcceptQueueFull);
    doubt(&mut results, "poll", 1000, Doubt::Disturbed);
    results.extend(net::overtakings(&results, 1));
    results
}

/// `net/requests` with fewer levels and a generator that is never the bottleneck.
pub fn requests() -> Vec<CaseResult> {
    let kept = ["fork", "threads", "poll", "epoll", "io_uring"];
    let manners = MANNERS.iter().filter(|manner| kept.contains(&manner.arch));
    let of_manner = |manner: &Manner| {
        let cpu = if manner.arch == "fork" { 8.2e3 } else { manner.cpu / 3.0 };
        let calls = if manner.arch == "io_uring" { 1.1 } else { 2.2 };
        let manner = Manner { cpu, calls, ..*manner };
        [1, 100, 1000].map(|connections| load("net/requests", &manner, connections, 1e6)).concat()
    };
    let mut results: Vec<CaseResult> = manners.flat_map(of_manner).collect();
    results.extend(net::overtakings(&results, 1));
    results
}

/// `net/hold` with this number of connections.
pub fn hold(levels: &[u32]) -> Vec<CaseResult> {
    let case = "net/hold";
    let mut results = Vec::new();
    for manner in MANNERS.iter().filter(|m| !["prefork", "pool"].contains(&m.arch)) {
        for connections in levels {
            let of = params(manner.arch, *connections);
            let one = |metric: &str, unit: &str, value: f64| {
                figure(case, &of, (metric, unit), value, 0.02)
            };
            let [processes, threads] = match manner.arch {
                "fork" | "exec" => [1.0, 1.0],
                "threads" => [0.0, 1.0],
                _ => [0.0, 0.0],
            };
            results.extend([
                one("time", "ns/op", manner.cpu + 16e3),
                one("memory", "bytes", manner.memory),
                one("processes", "processes", processes),
                one("threads", "threads", threads),
            ]);
        }
    }
    let why = "only 471 of 500 connections could be held";
    let of_exec = |r: &CaseResult| r.params["arch"] == "exec" && r.params["connections"] == "500";
    results.retain(|result| !of_exec(result));
    results.push(ended(case, "exec", 500, Outcome::Failed, why));
    results.push(ended(case, "iocp", levels[0], Outcome::Unsupported, NO_WINDOWS));
    results
}
