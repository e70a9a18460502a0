//! The results of `oscost net load` as JSON.

use std::time::Duration;

use hdrhistogram::Histogram;
use loadgen::{ErrorKind, Errors, Held};
use platform::process::tree::ProcessTree;
use serde_json::{Value, json};
use strum::VariantArray;

use super::args::NetLoad;
use super::taken::{Taken, growth};

/// The results of several steps; `before` is the state of the server before them.
pub fn steps_json(
    args: &NetLoad,
    taken: &[Taken],
    before: Option<ProcessTree>,
    limit: Option<u64>,
) -> Value {
    json!({
        "load": load_json(args),
        "descriptor_limit": limit,
        "steps": taken.iter().map(|taken| step_json(taken, before)).collect::<Vec<_>>(),
    })
}

/// Idle connections, and the memory of each for the `client` and the `server`.
pub fn held_json(
    args: &NetLoad,
    held: &Held,
    asked: usize,
    client: Option<f64>,
    server: Option<f64>,
) -> Value {
    json!({
        "load": load_json(args),
        "idle": {
            "asked": asked,
            "open": held.open,
            "opening_ns": in_ns(held.took),
            "errors": errors_json(&held.errors),
            "client_memory_per_connection": client,
            "server_memory_per_connection": server,
        },
    })
}

/// The parameters of the load.
fn load_json(args: &NetLoad) -> Value {
    json!({
        "to": args.to.to_string(),
        "protocol": args.protocol.to_string(),
        "status": args.status,
        "loop": if args.rate.is_some() { "open" } else { "closed" },
        "duration_ns": in_ns(args.duration),
        "timeout_ns": in_ns(args.timeout),
        "sources": args.sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "cpu": args.bind_cpu.first(),
        "cpus": args.bind_cpu,
        "server_pid": args.server_pid,
        "server_report": args.server_report.map(|address| address.to_string()),
    })
}

/// A step, with the server's processes after it.
fn step_json(taken: &Taken, before: Option<ProcessTree>) -> Value {
    let Taken { step, server } = taken;
    let server = server.map(|tree| {
        json!({
            "memory": tree.memory,
            "memory_per_connection": growth(before, Some(tree), step.open),
            "processes": tree.processes,
            "threads": tree.threads,
            "descriptors": tree.descriptors,
        })
    });
    json!({
        "concurrency": step.concurrency,
        "rate": step.rate,
        "open": step.open,
        "elapsed_ns": in_ns(step.elapsed),
        "planned": step.planned,
        "connections": step.connections,
        "connections_per_s": step.connections_per_s(),
        "replies": step.replies,
        "replies_per_s": step.replies_per_s(),
        "connect_ns": times_json(&step.connect),
        "reply_ns": times_json(&step.reply),
        "close_ns": times_json(&step.close),
        "errors": errors_json(&step.errors),
        "unfinished": {
            "count": step.unfinished.count,
            "oldest_ns": in_ns(step.unfinished.oldest),
        },
        "client_threads": step.threads,
        "client_cpu_ns": step.cpu.map(in_ns),
        "client_busy": step.generator_busy(),
        "client_held_up": step.generator_held_up(),
        "client_saturated": step.client_saturated(),
        "server_cpu_ns": step.server_cpu.map(in_ns),
        "server": server,
    })
}

fn in_ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// A distribution of times in ns.
fn times_json(histogram: &Histogram<u64>) -> Option<Value> {
    let at = |percent| histogram.value_at_percentile(percent);
    (!histogram.is_empty()).then(|| {
        json!({
            "count": histogram.len(),
            "min": histogram.min(),
            "mean": histogram.mean(),
            "p50": at(50.0),
            "p90": at(90.0),
            "p99": at(99.0),
            "p99.9": at(99.9),
            "max": histogram.max(),
        })
    })
}

/// The number of errors of each kind, and the first error of two kinds as text.
fn errors_json(errors: &Errors) -> Value {
    let counts = ErrorKind::VARIANTS.iter().copied();
    let counts = counts.map(|kind| (kind.name().to_owned(), errors.count(kind).into()));
    let words = [("first_wrong", &errors.first_wrong), ("first_other", &errors.first_other)];
    counts.chain(words.map(|(name, how)| (name.to_owned(), json!(how)))).collect()
}
