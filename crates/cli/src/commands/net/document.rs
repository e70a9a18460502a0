//! The results of `oscost net load` as JSON.

use std::time::Duration;

use hdrhistogram::Histogram;
use loadgen::{ErrorKind, Errors, Held};
use platform::tree::ProcessTree;
use serde::Serialize;
use serde_json::{Map, Value};

use super::taken::{Taken, growth};
use crate::args::NetLoad;

/// A load of several steps.
#[derive(Serialize)]
pub struct StepsJson {
    load: LoadJson,
    descriptor_limit: Option<u64>,
    steps: Vec<StepJson>,
}

/// Idle connections.
#[derive(Serialize)]
pub struct HeldJson {
    load: LoadJson,
    idle: IdleJson,
}

#[derive(Serialize)]
struct IdleJson {
    asked: usize,
    open: usize,
    opening_ns: u64,
    errors: ErrorsJson,
    client_memory_per_connection: Option<f64>,
    server_memory_per_connection: Option<f64>,
}

/// The parameters of the load.
#[derive(Serialize)]
struct LoadJson {
    to: String,
    protocol: String,
    status: Option<u16>,
    r#loop: &'static str,
    duration_ns: u64,
    timeout_ns: u64,
    sources: Vec<String>,
    cpu: Option<usize>,
    cpus: Vec<usize>,
    server_pid: Option<u32>,
    server_report: Option<String>,
}

#[derive(Serialize)]
struct StepJson {
    concurrency: usize,
    rate: Option<f64>,
    open: usize,
    elapsed_ns: u64,
    planned: u64,
    connections: u64,
    connections_per_s: f64,
    replies: u64,
    replies_per_s: f64,
    connect_ns: Option<TimesJson>,
    reply_ns: Option<TimesJson>,
    close_ns: Option<TimesJson>,
    errors: ErrorsJson,
    unfinished: UnfinishedJson,
    client_threads: usize,
    client_cpu_ns: Option<u64>,
    client_busy: f64,
    client_held_up: Option<f64>,
    client_saturated: bool,
    server_cpu_ns: Option<u64>,
    server: Option<ServerJson>,
}

#[derive(Serialize)]
struct UnfinishedJson {
    count: u64,
    oldest_ns: u64,
}

/// The server's processes after a step.
#[derive(Serialize)]
struct ServerJson {
    memory: Option<u64>,
    memory_per_connection: Option<f64>,
    processes: usize,
    threads: usize,
    descriptors: Option<usize>,
}

/// A distribution of times, in ns.
#[derive(Serialize)]
struct TimesJson {
    count: u64,
    min: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    #[serde(rename = "p99.9")]
    p99_9: u64,
    max: u64,
}

/// The number of errors of each kind, and the first of two kinds in words.
#[derive(Serialize)]
struct ErrorsJson {
    #[serde(flatten)]
    counts: Map<String, Value>,
    first_wrong: Option<String>,
    first_other: Option<String>,
}

/// The results of several steps; `before` is the server before them.
pub fn steps_json(
    args: &NetLoad,
    taken: &[Taken],
    before: Option<ProcessTree>,
    limit: Option<u64>,
) -> StepsJson {
    StepsJson {
        load: load_json(args),
        descriptor_limit: limit,
        steps: taken.iter().map(|taken| step_json(taken, before)).collect(),
    }
}

/// The result of holding connections idle: `client` and `server` are the memory of each, in bytes.
pub fn held_json(
    args: &NetLoad,
    held: &Held,
    asked: usize,
    client: Option<f64>,
    server: Option<f64>,
) -> HeldJson {
    HeldJson {
        load: load_json(args),
        idle: IdleJson {
            asked,
            open: held.open,
            opening_ns: in_ns(held.took),
            errors: errors_json(&held.errors),
            client_memory_per_connection: client,
            server_memory_per_connection: server,
        },
    }
}

fn load_json(args: &NetLoad) -> LoadJson {
    LoadJson {
        to: args.to.to_string(),
        protocol: args.protocol.to_string(),
        status: args.status,
        r#loop: if args.rate.is_some() { "open" } else { "closed" },
        duration_ns: in_ns(args.duration),
        timeout_ns: in_ns(args.timeout),
        sources: args.sources.iter().map(ToString::to_string).collect(),
        cpu: args.bind_cpu.first().copied(),
        cpus: args.bind_cpu.clone(),
        server_pid: args.server_pid,
        server_report: args.server_report.map(|address| address.to_string()),
    }
}

fn step_json(taken: &Taken, before: Option<ProcessTree>) -> StepJson {
    let Taken { step, server } = taken;
    let server = server.map(|tree| ServerJson {
        memory: tree.memory,
        memory_per_connection: growth(before, Some(tree), step.open),
        processes: tree.processes,
        threads: tree.threads,
        descriptors: tree.descriptors,
    });
    StepJson {
        concurrency: step.concurrency,
        rate: step.rate,
        open: step.open,
        elapsed_ns: in_ns(step.elapsed),
        planned: step.planned,
        connections: step.connections,
        connections_per_s: step.connections_per_s(),
        replies: step.replies,
        replies_per_s: step.replies_per_s(),
        connect_ns: times_json(&step.connect),
        reply_ns: times_json(&step.reply),
        close_ns: times_json(&step.close),
        errors: errors_json(&step.errors),
        unfinished: UnfinishedJson {
            count: step.unfinished.count,
            oldest_ns: in_ns(step.unfinished.oldest),
        },
        client_threads: step.threads,
        client_cpu_ns: step.cpu.map(in_ns),
        client_busy: step.generator_busy(),
        client_held_up: step.generator_held_up(),
        client_saturated: step.client_saturated(),
        server_cpu_ns: step.server_cpu.map(in_ns),
        server,
    }
}

fn in_ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn times_json(histogram: &Histogram<u64>) -> Option<TimesJson> {
    let at = |percent| histogram.value_at_percentile(percent);
    (!histogram.is_empty()).then(|| TimesJson {
        count: histogram.len(),
        min: histogram.min(),
        mean: histogram.mean(),
        p50: at(50.0),
        p90: at(90.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: histogram.max(),
    })
}

fn errors_json(errors: &Errors) -> ErrorsJson {
    let counts = ErrorKind::ALL.into_iter();
    ErrorsJson {
        counts: counts.map(|kind| (kind.name().to_owned(), errors.count(kind).into())).collect(),
        first_wrong: errors.first_wrong.clone(),
        first_other: errors.first_other.clone(),
    }
}
