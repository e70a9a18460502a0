//! Results like those of a small cloud machine.

use measure::Doubt;
use results::{CaseResult, Direction, Distribution, Estimate, Outcome, PerOp, PointKey};

/// A case with its parameters.
pub fn point(case: &str, params: &[(&str, &str)]) -> PointKey {
    PointKey { case: case.to_owned(), params: simulated::params(params) }
}

/// A result with only a name.
fn named(point: &PointKey, metric: &str, unit: &str) -> CaseResult {
    let params = point.params.clone();
    CaseResult {
        rounds: 8,
        ..CaseResult::blank(&point.case, params, metric, unit, Direction::Lower)
    }
}

/// The distribution of the samples of a case around its cost.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Tight,
    Skewed,
    TwoPeaks,
    LongTail,
}

impl Shape {
    fn seen(self, cost: f64) -> Distribution {
        let [min, p5, p25, p50, p75, p95, p99] = match self {
            Shape::Tight => [0.995, 0.997, 0.999, 1.000, 1.002, 1.009, 1.05],
            Shape::Skewed => [0.994, 0.997, 1.0, 1.02, 1.08, 1.22, 1.46],
            Shape::TwoPeaks => [0.995, 0.998, 0.999, 1.004, 1.32, 1.35, 1.38],
            Shape::LongTail => [0.97, 0.98, 0.99, 1.0, 1.03, 1.31, 7.2],
        }
        .map(|part| part * cost);
        Distribution { min, p5, p25, p50, p75, p95, p99, mean: p50 * 1.02 }
    }
}

/// A measured cost: `relative` is the half-width of its interval.
pub fn cost(
    point: &PointKey,
    ns: f64,
    relative: f64,
    shape: Shape,
    quiet: f64,
    calls: f64,
) -> CaseResult {
    CaseResult {
        estimate: Some(estimate(ns, relative)),
        seen: Some(shape.seen(ns)),
        quiet_share: Some(quiet),
        samples: 2500,
        converged: Some(true),
        per_op: Some(PerOp {
            syscalls: Some(calls),
            voluntary_switches: Some(0.0),
            involuntary_switches: Some(0.0002),
            page_faults: Some(0.0),
            ..PerOp::default()
        }),
        ..named(point, "time", "ns/op")
    }
}

/// A further metric of a case.
pub fn metric(point: &PointKey, metric: &str, unit: &str, value: f64, relative: f64) -> CaseResult {
    CaseResult {
        better: Direction::Higher,
        estimate: Some(estimate(value, relative)),
        ..named(point, metric, unit)
    }
}

fn estimate(value: f64, relative: f64) -> Estimate {
    let half_width = value.abs() * relative;
    Estimate { median: value, low: value - half_width, high: value + half_width, level: 0.95 }
}

/// A case without a figure.
pub fn without_figure(point: &PointKey, outcome: Outcome, reason: &str) -> CaseResult {
    CaseResult {
        outcome,
        reason: Some(reason.to_owned()),
        rounds: 0,
        ..named(point, "time", "ns/op")
    }
}

/// The result with an additional doubt.
pub fn doubtful(mut result: CaseResult, doubt: Doubt) -> CaseResult {
    result.doubts.push(doubt);
    result
}

fn clock() -> Vec<CaseResult> {
    let sources = [
        ("monotonic", "vdso", 24.31, 0.0),
        ("monotonic", "syscall", 189.2, 1.0),
        ("monotonic-coarse", "vdso", 5.83, 0.0),
        ("monotonic-coarse", "syscall", 171.4, 1.0),
        ("boottime", "vdso", 24.36, 0.0),
    ];
    let mut results = Vec::new();
    for (source, via, ns, calls) in sources {
        let gettime = point("clock/gettime", &[("id", source), ("via", via)]);
        let shape = if calls > 0.0 { Shape::TwoPeaks } else { Shape::Tight };
        results.push(cost(&gettime, ns, 0.0011, shape, 0.93, calls));
        let step = if source.contains("coarse") { 4e6 } else { 1.0 };
        results.push(metric(&gettime, "step", "ns", step, 0.0));
        results.push(metric(&gettime, "granularity", "ns", step, 0.0));
        results.push(metric(&gettime, "back", "steps", 0.0, 0.0));
        let back = if source.starts_with("boot") { 3.0 } else { 0.0 };
        results.push(metric(&gettime, "back-across-cpus", "steps", back, 0.0));
    }
    let tsc = point("clock/tsc", &[("fenced", "yes")]);
    results.push(cost(&tsc, 9.42, 0.002, Shape::Tight, 0.97, 0.0));
    results
}

fn syscall() -> Vec<CaseResult> {
    use Shape::{LongTail, Skewed, Tight, TwoPeaks};
    const OF_1: &[(&str, &str)] = &[("from", "zero"), ("size", "1")];
    const OF_64K: &[(&str, &str)] = &[("from", "zero"), ("size", "65536")];
    let costs = [
        ("syscall/getppid", &[][..], 164.93, 0.0018, TwoPeaks, 0.93, 1.0),
        ("syscall/read", OF_1, 201.4, 0.0021, Tight, 0.94, 1.0),
        ("syscall/read", OF_64K, 1904.0, 0.0043, Tight, 0.94, 1.0),
        ("syscall/openat", &[("path", "short")], 1243.2, 0.0124, Skewed, 0.03, 2.0),
        ("syscall/openat", &[("path", "deep")], 2874.0, 0.021, LongTail, 0.61, 2.0),
        ("syscall/stat", &[], 512.7, 0.0031, Skewed, 0.88, 1.0),
    ];
    let mut results: Vec<CaseResult> = costs
        .into_iter()
        .map(|(case, params, ns, relative, shape, quiet, calls)| {
            cost(&point(case, params), ns, relative, shape, quiet, calls)
        })
        .collect();
    results[3..5].iter_mut().for_each(|result| result.doubts.push(Doubt::SeldomQuiet));
    results[4].converged = Some(false);
    let denied = "io_uring_setup: operation not permitted (EPERM); kernel.io_uring_disabled is 2";
    let no_winapi = "no such call on Linux";
    let others = [
        ("syscall/io-uring-nop", &[("batch", "32")][..], Outcome::Failed, denied),
        ("syscall/getpid", &[("via", "libc")], Outcome::Implausible, "no system call was made"),
        ("syscall/nt-yield", &[], Outcome::Unsupported, no_winapi),
        ("syscall/nt-query-object", &[], Outcome::Unsupported, no_winapi),
        ("syscall/getcpu", &[("via", "gs")], Outcome::Unsupported, "no such segment on x86-64"),
    ];
    results.extend(others.map(|(case, params, outcome, reason)| {
        without_figure(&point(case, params), outcome, reason)
    }));
    results
}

fn lock() -> Vec<CaseResult> {
    let mut results = Vec::new();
    let locks = [
        ("futex", 18.2, 0.0),
        ("pthread-mutex", 21.7, 0.0),
        ("spin", 9.8, 0.0),
        ("sysv-sem", 966.4, 2.0),
    ];
    for (lock, ns, calls) in locks {
        for (workers, factor) in [("1", 1.0), ("4", 6.3)] {
            let case = format!("lock/{lock}");
            let lock = point(&case, &[("as", "threads"), ("workers", workers)]);
            let shape = if workers == "1" { Shape::Tight } else { Shape::LongTail };
            let relative = if workers == "1" { 0.0022 } else { 0.0135 };
            results.push(cost(&lock, ns * factor, relative, shape, 0.9, calls));
            results.push(metric(&lock, "pairs/s", "pairs/s", 1e9 / ns / factor, relative));
            let share = if workers == "1" { 1.0 } else { 0.2312 };
            let relative = if workers == "1" { 0.0 } else { relative };
            results.push(metric(&lock, "least-share", "share", share, relative));
            let greatest = if workers == "1" { 1.0 } else { 0.2694 };
            results.push(metric(&lock, "greatest-share", "share", greatest, relative));
        }
    }
    results.push(without_figure(
        &point("lock/spin", &[("as", "processes"), ("workers", "4")]),
        Outcome::TimedOut,
        "no round ended within 10 s",
    ));
    for workers in ["1", "2", "4"] {
        let srw = point("lock/srw", &[("workers", workers)]);
        results.push(without_figure(&srw, Outcome::Unsupported, "slim locks are of Windows"));
    }
    results
}

fn concurrency() -> Vec<CaseResult> {
    let mut results = Vec::new();
    for (workers, seconds) in [("1", 1.842), ("2", 0.981)] {
        let files = point("concurrency/files", &[("as", "threads"), ("workers", workers)]);
        results.push(metric(&files, "wall", "s", seconds, 0.0082));
        results.push(metric(&files, "throughput", "files/s", 10_000.0 / seconds, 0.0082));
    }
    results.push(without_figure(
        &point("concurrency/files", &[("as", "processes"), ("workers", "64")]),
        Outcome::Failed,
        "fork: resource temporarily unavailable (EAGAIN); see ulimit -u",
    ));
    results
}

/// A run with results of all kinds.
pub fn a_run() -> Vec<CaseResult> {
    crate::install();
    [clock(), syscall(), lock(), concurrency()].concat()
}

/// Locks like those of a real run: shared parameters, wide intervals, many doubts, and many unsupported rows.
pub fn contended_locks() -> Vec<CaseResult> {
    crate::install();
    let locks = [
        ("sysv-sem", 322.7, 2.0, true),
        ("sysv-sem-no-undo", 292.4, 2.0, true),
        ("posix-sem-shared", 17.26, 0.0, true),
        ("posix-sem-named", 17.24, 0.0, true),
        ("pthread-mutex", 13.99, 0.0, false),
        ("pthread-mutex-errorcheck", 16.46, 0.0, false),
        ("pthread-mutex-pi", 18.69, 0.0, false),
        ("spin-ticket", 6.971, 0.0, false),
        ("std-mutex", 14.03, 0.0, false),
        ("flock", 293.2, 2.0, true),
    ];
    let mut results = Vec::new();
    for (lock, ns, calls, also_processes) in locks {
        for workers in [1, 2, 4] {
            for kind in ["threads", "processes"].into_iter().take(1 + usize::from(also_processes)) {
                results.extend(one_lock(lock, kind, workers, ns, calls));
            }
        }
    }
    for lock in ["critical-section", "srwlock"] {
        for workers in [1, 2, 4] {
            let srw = lock_point(lock, "threads", workers);
            results.push(without_figure(&srw, Outcome::Unsupported, "exists only on Windows"));
        }
    }
    results
}

fn lock_point(lock: &str, kind: &str, workers: u32) -> PointKey {
    let workers = workers.to_string();
    let params = [("as", kind), ("place", "spread"), ("work", "none"), ("workers", &workers)];
    point(&format!("lock/{lock}"), &params)
}

fn one_lock(lock: &str, kind: &str, workers: u32, ns: f64, calls: f64) -> Vec<CaseResult> {
    let point = lock_point(lock, kind, workers);
    let contended = f64::from(workers - 1);
    let ns = ns * (1.0 + 9.0 * contended + f64::from(u8::from(kind == "processes")));
    let (shape, relative) = match workers {
        1 => (Shape::Tight, 0.001),
        2 => (Shape::Skewed, 0.87),
        _ => (Shape::LongTail, 3.07),
    };
    let mut time =
        cost(&point, ns, relative, shape, 0.7 / f64::from(workers), calls + 0.0672 * contended);
    if workers > 1 {
        time.converged = Some(false);
    }
    if workers == 4 && lock.starts_with("sysv") {
        time = doubtful(time, Doubt::Disturbed);
    }
    vec![
        time,
        metric(&point, "rate", "pairs/s", 1e9 / ns, relative / 2.0),
        metric(&point, "least-share", "of fair", 1.0 - 0.2517 * contended, relative * contended),
        metric(&point, "greatest-share", "of fair", 1.0 + 0.4183 * contended, relative * contended),
    ]
}
