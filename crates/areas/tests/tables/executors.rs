//! A simulated run of the area `concurrency` on a machine with two CPUs: times follow from sharing the CPUs evenly
//! among the running jobs, plus the cost of handing out a job.

use std::collections::BTreeMap;

use measure::Doubt;
use results::{CaseResult, Direction, Document, Estimate, Outcome, RunInfo, SCHEMA};
use simulated::{evenly, params};

/// Number of rounds of each case.
const ROUNDS: usize = 10;

/// A measured metric whose rounds lie evenly within `relative` of `value`.
pub fn figure(
    case: &str,
    of: &BTreeMap<String, String>,
    (metric, unit): (&str, &str),
    value: f64,
    relative: f64,
) -> CaseResult {
    areas::install();
    let better = if unit == "jobs/s" { Direction::Higher } else { Direction::Lower };
    evenly((case, of), (metric, unit, better), [value, relative], [ROUNDS, 7, 3])
}

/// A metric without a figure.
pub fn without_figure(
    case: &str,
    of: &BTreeMap<String, String>,
    (metric, unit): (&str, &str),
    outcome: Outcome,
    reason: &str,
) -> CaseResult {
    areas::install();
    let (metric, unit) = (metric.to_owned(), unit.to_owned());
    CaseResult { metric, unit, ..simulated::ended((case, of), outcome, reason) }
}

/// Completion times of jobs that are handed out in this order; at most `at_once` of them share `cpus` evenly.
fn completions(lengths: &[f64], cpus: f64, at_once: usize) -> Vec<f64> {
    let mut left = lengths.to_vec();
    let mut done = vec![0.0; lengths.len()];
    let mut now = 0.0;
    loop {
        let at_work: Vec<usize> =
            (0..left.len()).filter(|i| left[*i] > 0.0).take(at_once).collect();
        if at_work.is_empty() {
            return done;
        }
        let speed = (cpus / at_work.len() as f64).min(1.0);
        let step = at_work.iter().map(|i| left[*i]).fold(f64::MAX, f64::min);
        now += step / speed;
        for i in at_work {
            left[i] -= step;
            if left[i] <= 0.0 {
                done[i] = now;
            }
        }
    }
}

/// Degree of `executor`, and its cost of handing out a job in ns.
fn manner(executor: &str) -> (usize, f64) {
    match executor {
        "serial" => (1, 60.0),
        "threads" | "threads-up-front" => (25, 14_300.0),
        "processes" => (25, 210_000.0),
        _ => (25, 2_900.0),
    }
}

/// All metrics of one cell of `concurrency/jobs`.
pub fn cell(
    executor: &str,
    kind: &str,
    (cpus, order, degree): (&str, &str, &str),
    (jobs, base, base_ns): (u32, &str, f64),
) -> Vec<CaseResult> {
    let number = jobs.to_string();
    let of = params(&[
        ("base", base),
        ("cpus", cpus),
        ("degree", degree),
        ("executor", executor),
        ("jobs", &number),
        ("kind", kind),
        ("order", order),
    ]);
    let longest = |k: u32| if order == "shortest" { k + 1 } else { jobs - k };
    let lengths: Vec<f64> = (0..jobs).map(|k| f64::from(longest(k)) * base_ns).collect();
    let (at_once, cost) = manner(executor);
    let number_of_cpus = if cpus == "one" { 1.0 } else { 2.0 };
    let shared = match kind {
        "cpu" => number_of_cpus,
        "mixed" => number_of_cpus * 1.86,
        _ => 1e6,
    };
    let handed_out = cost * f64::from(jobs) + 31_000.0;
    let done = completions(&lengths, shared, at_once);
    let elapsed = done.iter().copied().fold(0.0, f64::max) + handed_out;
    let mut turnarounds: Vec<f64> = done
        .iter()
        .zip(&lengths)
        .map(|(done, length)| (done + handed_out / 2.0) / length)
        .collect();
    turnarounds.sort_by(f64::total_cmp);
    let mean = turnarounds.iter().sum::<f64>() / f64::from(jobs);
    let at = |part: f64| turnarounds[(part * f64::from(jobs - 1)).round() as usize];
    let sum: f64 = lengths.iter().sum();
    let ideal = (sum / shared).max(f64::from(jobs) * base_ns);
    let wide = if executor == "serial" { 0.0012 } else { 0.0074 };
    let x = |metric: &str, value| figure("concurrency/jobs", &of, (metric, "x"), value, wide * 1.3);
    let one = |named: (&str, &str), value, relative| {
        figure("concurrency/jobs", &of, named, value, relative)
    };
    let mut results = vec![
        one(("time", "ns/op"), elapsed, wide),
        x("turnaround", mean),
        x("turnaround-p25", at(0.25)),
        x("turnaround-p50", at(0.5)),
        x("turnaround-p75", at(0.75)),
        x("turnaround-worst", at(1.0)),
        one(("cpu-use", "CPUs"), (sum / elapsed).min(number_of_cpus), 0.01),
        one(("voluntary-switches", "switches"), f64::from(jobs) * 2.0, 0.1),
        one(("involuntary-switches", "switches"), elapsed / 4e6, 0.2),
        one(("overhead", "share"), elapsed / ideal - 1.0, 0.04),
    ];
    if kind != "wait" {
        let error = 0.0041 + 0.017 / f64::from(jobs * jobs);
        results.push(one(("work-error", "share"), error, 0.1));
    }
    results
}

/// All metrics of every combination of these values.
pub fn jobs(
    executors: &[&str],
    kinds: &[&str],
    ways: &[(&str, &str, &str)],
    bases: &[(&str, f64)],
) -> Vec<CaseResult> {
    let mut results = Vec::new();
    for way in ways {
        for kind in kinds {
            for (base, ns) in bases {
                for jobs in [2, 8, 17] {
                    for executor in executors {
                        results.extend(cell(executor, kind, *way, (jobs, base, *ns)));
                    }
                }
            }
        }
    }
    results
}

/// The points of a default run of `concurrency/jobs`.
pub fn default_jobs() -> Vec<CaseResult> {
    jobs(
        &["serial", "threads", "tokio"],
        &["cpu", "wait", "mixed"],
        &[("one", "longest", "25"), ("all", "longest", "25")],
        &[("50us", 5e4), ("450us", 4.5e5), ("4.05ms", 4.05e6)],
    )
}

/// A sweep over the degree, with the laws fitted to it.
pub fn degrees() -> Vec<CaseResult> {
    const CASE: &str = "concurrency/degree";
    let mut results = Vec::new();
    for (kind, most) in [("cpu", 1.93), ("mixed", 3.61)] {
        let of = [("executor", "threads"), ("jobs", "64"), ("kind", kind), ("length", "2ms")];
        for degree in 1..=8u32 {
            let number = degree.to_string();
            let of = params(&[&of[..], &[("degree", &number)]].concat());
            let n = f64::from(degree);
            let speed_up = n.min(most) / (1.0 + 0.004 * (n - 1.0));
            let elapsed = 64.0 * 2.03e6 / speed_up;
            results.push(figure(CASE, &of, ("time", "ns/op"), elapsed, 0.004));
            results.push(figure(CASE, &of, ("rate", "jobs/s"), 64e9 / elapsed, 0.004));
        }
        let of = params(&of);
        let fit = |metric: &str, unit: &str, mid: f64, low: f64, high: f64| CaseResult {
            estimate: Some(Estimate { median: mid, low, high, level: 0.95 }),
            ..figure(CASE, &of, (metric, unit), mid, 0.0)
        };
        results.push(fit("amdahl-serial", "share", 0.021, 0.0183, 0.0241));
        results.push(fit("usl-contention", "share", 0.0192, 0.0161, 0.0218));
        results.push(fit("rate-one", "jobs/s", 492.6, 490.1, 494.8));
        if kind == "cpu" {
            results.push(fit("usl-coherence", "share", 0.0121, 0.0102, 0.0143));
            results.push(fit("usl-knee", "degree", 9.03, 8.3, 11.7));
        } else {
            let mut coherence = fit("usl-coherence", "share", -0.0003, -0.0011, 0.0004);
            coherence.doubts.push(Doubt::OneRound);
            results.push(coherence);
            let why = "coherence is not above 0: the rate has no highest point";
            let named = ("usl-knee", "degree");
            results.push(without_figure(CASE, &of, named, Outcome::Unsupported, why));
        }
    }
    results
}

/// Job lengths from which an executor pays off.
pub fn worth() -> Vec<CaseResult> {
    const CASE: &str = "concurrency/worth";
    let lengths = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    let executors =
        [("serial", 0.0), ("threads", 17.6), ("pool", 2.1), ("rayon", 0.45), ("tokio", 1.3)];
    let common = [("degree", "2"), ("jobs", "64")];
    let mut results = Vec::new();
    for us in lengths {
        for (executor, cost) in executors {
            let length = if us < 1000.0 { format!("{us}us") } else { "1ms".to_owned() };
            let own = [("executor", executor), ("length", length.as_str())];
            let of = params(&[&common[..], &own[..]].concat());
            let cpus = if executor == "serial" { 1.0 } else { 1.94 };
            let ns = 64.0 * (us / cpus + cost) * 1e3 + 900.0;
            results.push(figure(CASE, &of, ("time", "ns/op"), ns, 0.006));
        }
    }
    for (executor, ns) in
        [("threads", 36_400.0), ("pool", 4_340.0), ("rayon", 0.0), ("tokio", 2_690.0)]
    {
        let of = params(&[&common[..], &[("executor", executor)]].concat());
        let named = ("shortest-job", "ns");
        results.push(if ns > 0.0 {
            figure(CASE, &of, named, ns, 0.08)
        } else {
            let why = "sooner than serial for all measured lengths, from 1 us on";
            without_figure(CASE, &of, named, Outcome::Unsupported, why)
        });
    }
    results
}

/// The candidates for the user's jobs.
pub fn answer() -> Vec<CaseResult> {
    const CASE: &str = "concurrency/answer";
    let candidates = [
        ("serial", "1", "given", 812.0, 19.4, 142.0),
        ("serial", "1", "shortest", 812.4, 7.21, 19.8),
        ("threads", "2", "given", 431.0, 11.2, 81.0),
        ("threads", "8", "given", 418.0, 8.4, 52.1),
        ("pool", "8", "shortest", 416.2, 5.02, 21.0),
        ("tokio", "8", "shortest", 415.9, 5.01, 20.7),
    ];
    let common = [("bound", "mixed:30"), ("jobs", "40"), ("length", "5ms..80ms")];
    let mut results = Vec::new();
    for (executor, degree, order, ms, mean, worst) in candidates {
        let own = [("degree", degree), ("executor", executor), ("order", order)];
        let of = params(&[&common[..], &own[..]].concat());
        results.push(figure(CASE, &of, ("time", "ns/op"), ms * 1e6, 0.004));
        results.push(figure(CASE, &of, ("turnaround", "x"), mean, 0.01));
        results.push(figure(CASE, &of, ("turnaround-worst", "x"), worst, 0.03));
    }
    results
}

/// `results` as the document of one run.
pub fn document(results: Vec<CaseResult>) -> Document {
    let machine = serde_json::json!({
        "os": "Linux", "release": "6.1.0-28-cloud-amd64", "arch": "x86_64",
        "cpu": "AMD EPYC 7B13", "cpus": 2, "sandbox": null, "ram_gb": 7.7
    });
    Document {
        schema: SCHEMA,
        run: RunInfo {
            finished: Some("2026-11-21T20:41:12Z".to_owned()),
            seed: u64::MAX,
            tags: params(&[("kernel", "old")]),
            asked: params(&[("budget", "2m"), ("filter", "concurrency")]),
            ..simulated::run_info("20261121-203655-4f2a")
        },
        machine: machine.as_object().cloned().unwrap_or_default(),
        results,
    }
}
