//! Runs every lock in real rounds: the lock excludes other workers, a broken lock is detected, and the number of system calls is
//! as declared.

use std::sync::atomic::{AtomicBool, Ordering};

use catalog::{Case, Only};
use measure::record::{Line, OperationCounts, Series};
use measure::round::Mode;
use measure::{CaseError, Params, Round, RoundOrder};
use primitives::lock::{self, Lock};
use rehearsal::Outcome;
use testing::{Completion, Trial};

/// Two tests for each lock and each kind of workers.
pub fn of_cases() -> impl Iterator<Item = Trial> {
    let of_case = |case: &'static Case| kinds_of_workers(case).map(move |kind| (case, kind));
    crate::of_this_system(lock::AREA.cases).flat_map(of_case).flat_map(|(case, kind)| {
        [
            testing::test(format!("locks::ten_{kind}_of_{}", case.name), move || {
                every_worker_is_measured(case, kind);
            }),
            testing::test(format!("locks::calls_of_{kind}_of_{}", case.name), move || {
                system_calls_are_as_expected(case, kind)
            }),
        ]
    })
}

fn round(
    params: &Params,
    mode: Mode,
    run: impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
) -> Outcome {
    let order = rehearsal::order("lock/under-test", params, mode);
    let order = RoundOrder { quiet_samples: 10, limit_ms: 5, ..order };
    let try_round = || rehearsal::round(&order, |round| run(params, round));
    // If other programs use the CPUs, ten workers in line for a fair spin lock may all wait for one that is not running. The
    // round then gives up, which is correct.
    let mut tried = try_round();
    for _ in 0..2 {
        if matches!(tried.1, Err(CaseError::TimedOut(_))) {
            tried = try_round();
        }
    }
    tried
}

fn params(workers: &str, workers_are: &str) -> Params {
    let usual = [("work", "none"), ("outside", "none"), ("place", "spread")];
    rehearsal::params(usual.iter().chain(&[("workers", workers), ("as", workers_are)]))
}

/// Kinds of workers that `--full` measures and this system supports: threads, processes or both.
fn kinds_of_workers(case: &Case) -> impl Iterator<Item = &'static str> {
    let kinds = case.params.iter().find(|param| param.name == "as").expect("all locks have it");
    let only_processes = case.name == "fcntl";
    kinds.full.iter().copied().filter(move |&kind| match kind {
        "threads" => !only_processes,
        _ => cfg!(unix),
    })
}

fn every_worker_is_measured(case: &Case, workers_are: &str) {
    let (lines, result) = round(&params("10", workers_are), Mode::Sample, case.run);
    assert_eq!(result, Ok(()));
    let series: Vec<&Series> = rehearsal::series(&lines).collect();
    // Each worker reports one series of full batches, and one of its other operations.
    assert!((10..=20).contains(&series.len()), "{} series", series.len());
    for series in series {
        assert!(!series.samples.is_empty());
        assert!(series.contended);
        assert_eq!(series.readings.len(), 2, "the sentinel before and after the round");
        // A single short batch may take less time than a step of a coarse clock.
        assert!(series.samples.iter().all(|&ns| ns >= 0.0), "{:?}", series.samples);
    }
    let metrics: Vec<&str> =
        rehearsal::metrics(&lines).map(|metric| metric.name.as_str()).collect();
    // Other metrics are derived from several points. If other programs use the CPUs, workers that spin may not hand over in time.
    assert!(metrics.starts_with(&["rate", "least-share", "greatest-share"]), "{metrics:?}");
    let hands_over = metrics[3..] == ["handover-to-waiter"];
    let has_doubt = lines.iter().any(|line| matches!(line, Line::Doubt(_)));
    assert_eq!(hands_over, case.name != "rwlock-read" && !has_doubt, "{metrics:?}");
    assert!(metrics.iter().all(|name| case.metrics.iter().any(|metric| metric.name == *name)));
}

/// Locks that enter the kernel twice for each pair, even if no worker waits. A single worker of any other lock does not enter the
/// kernel.
const TWO_CALLS: &[&str] =
    &["sysv-sem", "sysv-sem-no-undo", "fcntl", "flock", "pipe-token", "eventfd-token"];

fn system_calls_are_as_expected(case: &Case, workers_are: &str) -> Completion {
    let tracepoint = match rehearsal::tracepoint() {
        Ok(tracepoint) => tracepoint,
        Err(not_counted) => return not_counted,
    };
    let calls = |workers| -> OperationCounts {
        let mode = Mode::Count(tracepoint);
        let (lines, result) = round(&params(workers, workers_are), mode, case.run);
        assert_eq!(result, Ok(()));
        rehearsal::counts(&lines).clone()
    };
    let two_calls = TWO_CALLS.contains(&case.name);
    let expected = if two_calls { 2 } else { 0 };
    let alone = calls("1");
    assert_eq!(alone.syscalls, Some(expected * alone.operations));
    assert_eq!(alone.expected_syscalls, Some(expected as f64));
    let names: Vec<&str> = alone.calls.keys().map(String::as_str).collect();
    assert_eq!(names, names_of_calls(case.name));
    // The log of calls may end between the two calls of a pair.
    let each = (expected * alone.operations) as f64 / names.len().max(1) as f64;
    assert!(alone.calls.values().all(|&count| (count as f64 / each - 1.0).abs() < 0.02));
    let contended = calls("10");
    if two_calls {
        assert_eq!(contended.syscalls, Some(2 * contended.operations));
        assert_eq!(contended.expected_syscalls, Some(2.0));
    } else {
        assert_eq!(contended.expected_syscalls, None);
    }
    Completion::Completed
}

/// Names of the system calls of one worker.
fn names_of_calls(case: &str) -> &'static [&'static str] {
    match case {
        // glibc's semop() calls semtimedop.
        "sysv-sem" | "sysv-sem-no-undo" if cfg!(target_env = "gnu") => &["semtimedop"],
        "sysv-sem" | "sysv-sem-no-undo" => &["semop"],
        "fcntl" => &["fcntl"],
        "flock" => &["flock"],
        "pipe-token" | "eventfd-token" => &["read", "write"],
        _ => &[],
    }
}

pub fn fcntl_locks_do_not_exclude_threads() {
    let case = rehearsal::case(&[&lock::AREA], "lock/fcntl");
    if case.missing_here().is_some() {
        assert!(matches!(case.only, Only::Unix(_)));
        return;
    }
    let run = |workers| round(&params(workers, "threads"), Mode::Sample, case.run).1;
    assert_eq!(run("1"), Ok(()));
    assert!(matches!(run("2"), Err(CaseError::Unsupported(why)) if why.contains("the process")));
}

pub fn a_lock_without_effect_is_detected() {
    struct Nothing;

    impl Lock for Nothing {
        type Hold = ();

        fn join(&self) -> Result<(), CaseError> {
            Ok(())
        }

        fn acquire(&self, (): &mut ()) {}

        fn release(&self, (): &mut ()) {}
    }

    for workers_are in ["threads", "processes"] {
        if workers_are == "processes" && !cfg!(unix) {
            continue;
        }
        let (lines, result) =
            round(&params("10", workers_are), Mode::CountRest, |params, round| {
                lock::measure(params, round, &Nothing)
            });
        assert!(is_broken(&result), "{workers_are}: {result:?}");
        assert_eq!(lines, [], "nothing is reported of a lock that does not exclude");
    }
}

/// A lock in private memory, of which each forked worker has a copy.
pub fn an_unshared_lock_is_detected() {
    struct Private(AtomicBool);

    impl Lock for Private {
        type Hold = ();

        fn join(&self) -> Result<(), CaseError> {
            Ok(())
        }

        fn acquire(&self, (): &mut ()) {
            while self.0.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
        }

        fn release(&self, (): &mut ()) {
            self.0.store(false, Ordering::Release);
        }
    }

    let run = |workers_are| {
        let lock = Private(AtomicBool::new(false));
        let params = params("10", workers_are);
        round(&params, Mode::Sample, |params, round| lock::measure(params, round, &lock)).1
    };
    assert_eq!(run("threads"), Ok(()));
    if cfg!(unix) {
        let result = run("processes");
        assert!(is_broken(&result), "{result:?}");
    }
}

fn is_broken(result: &Result<(), CaseError>) -> bool {
    matches!(result, Err(CaseError::Failed(why)) if why.contains("mutual exclusion is broken"))
}
