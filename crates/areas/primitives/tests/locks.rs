//! Runs every lock in real rounds: the lock excludes other workers, a broken lock is detected, and the number of system calls is
//! as declared.
//!
//! A round of processes forks, which a process with other threads must not do. So these tests run one after the other on the main
//! thread, without the usual test harness.

use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use catalog::{Case, Only};
use libtest_mimic::{Arguments, Completion, Trial};
use measure::record::{Line, OperationCounts, Series, parse_lines};
use measure::round::Mode;
use measure::survey::{ClockFacts, survey};
use measure::{CaseError, Params, Round, RoundOrder};
use primitives::lock::{self, Lock};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let mut trials = vec![
        test("fcntl_locks_do_not_exclude_threads", fcntl_refuses_threads),
        test("a_lock_without_effect_is_detected", a_lock_without_effect_is_detected),
        test("an_unshared_lock_is_detected", an_unshared_lock_is_detected),
    ];
    for case in lock::AREA.cases.iter().filter(|case| case.missing_here().is_none()) {
        for workers_are in kinds_of_workers(case) {
            trials.push(test(format!("ten_{workers_are}_of_{}", case.name), move |bench| {
                every_worker_is_measured(bench, case, workers_are);
            }));
            let name = format!("calls_of_{workers_are}_of_{}", case.name);
            trials.push(Trial::ignorable_test(name, move || {
                Ok(system_calls_are_as_expected(&BENCH, case, workers_are))
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn test(name: impl Into<String>, check: impl FnOnce(&Bench) + Send + 'static) -> Trial {
    Trial::test(name, move || {
        check(&BENCH);
        Ok(())
    })
}

static BENCH: LazyLock<Bench> =
    LazyLock::new(|| Bench { clock: survey().remove(0), cpus: platform::cpu::allowed() });

/// Facts about this machine that a round needs.
struct Bench {
    clock: ClockFacts,
    cpus: Vec<usize>,
}

impl Bench {
    fn round(
        &self,
        params: &Params,
        mode: Mode,
        run: impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
    ) -> (Vec<Line>, Result<(), CaseError>) {
        // If other programs use the CPUs, ten workers in line for a fair spin lock may all wait for one that is not running. The
        // round then gives up, which is correct.
        let again = |tried: &(Vec<Line>, Result<(), CaseError>)| {
            matches!(tried.1, Err(CaseError::TimedOut(_)))
        };
        let mut tried = self.try_round(params, mode, &run);
        for _ in 0..2 {
            if again(&tried) {
                tried = self.try_round(params, mode, &run);
            }
        }
        tried
    }

    fn try_round(
        &self,
        params: &Params,
        mode: Mode,
        run: &impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
    ) -> (Vec<Line>, Result<(), CaseError>) {
        let order = RoundOrder {
            case: "lock/under-test".into(),
            params: params.clone(),
            core_bound: true,
            mode,
            clock: self.clock.clone(),
            cpus: self.cpus.clone(),
            level: None,
            ns_per_iteration: None,
            quiet_samples: 10,
            limit_ms: 5,
            slow_down: 0.0,
            partner_batches: 1.0,
            parent: None,
            is_here: false,
            user: None,
        };
        let mut out = Vec::new();
        let result = run(params, &mut Round::new(&order, &mut out));
        (parse_lines(std::str::from_utf8(&out).expect("JSON is UTF-8")), result)
    }
}

fn params(workers: &str, workers_are: &str) -> Params {
    let usual = [("work", "none"), ("outside", "none"), ("place", "spread")];
    let all = [("workers", workers), ("as", workers_are)].into_iter().chain(usual);
    all.map(|(name, value)| (name.into(), value.into())).collect()
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

fn every_worker_is_measured(bench: &Bench, case: &Case, workers_are: &str) {
    let (lines, result) = bench.round(&params("10", workers_are), Mode::Sample, case.run);
    assert_eq!(result, Ok(()));
    let series: Vec<&Series> =
        lines.iter().filter_map(|l| if let Line::Series(s) = l { Some(s) } else { None }).collect();
    // Each worker reports one series of full batches, and one of its other operations.
    assert!((10..=20).contains(&series.len()), "{} series", series.len());
    for series in series {
        assert!(!series.samples.is_empty());
        assert!(series.contended);
        assert_eq!(series.readings.len(), 2, "the sentinel before and after the round");
        // A single short batch may take less time than a step of a coarse clock.
        assert!(series.samples.iter().all(|&ns| ns >= 0.0), "{:?}", series.samples);
    }
    let metrics: Vec<&str> = lines
        .iter()
        .filter_map(|l| if let Line::Metric(m) = l { Some(m.name.as_str()) } else { None })
        .collect();
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

fn system_calls_are_as_expected(bench: &Bench, case: &Case, workers_are: &str) -> Completion {
    let Some(tracepoint) = platform::counters::syscall_tracepoint() else {
        if std::env::consts::OS != "linux" {
            let why = "system calls are counted on Linux only";
            testing::not_applicable(why);
            return Completion::ignored_with(why);
        }
        let why = "counting system calls needs root and tracefs";
        testing::skip(why);
        return Completion::ignored_with(why);
    };
    let calls = |workers| -> OperationCounts {
        let mode = Mode::Count(tracepoint);
        let (lines, result) = bench.round(&params(workers, workers_are), mode, case.run);
        assert_eq!(result, Ok(()));
        let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
        assert!(counts.operations > 0);
        counts.clone()
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

fn fcntl_refuses_threads(bench: &Bench) {
    let case = rehearsal::case(&[&lock::AREA], "lock/fcntl");
    if case.missing_here().is_some() {
        assert!(matches!(case.only, Only::Unix(_)));
        return;
    }
    let run = |workers| bench.round(&params(workers, "threads"), Mode::Sample, case.run).1;
    assert_eq!(run("1"), Ok(()));
    assert!(matches!(run("2"), Err(CaseError::Unsupported(why)) if why.contains("the process")));
}

fn a_lock_without_effect_is_detected(bench: &Bench) {
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
            bench.round(&params("10", workers_are), Mode::CountRest, |params, round| {
                lock::measure(params, round, &Nothing)
            });
        assert!(is_broken(&result), "{workers_are}: {result:?}");
        assert_eq!(lines, [], "nothing is reported of a lock that does not exclude");
    }
}

/// A lock in private memory, of which each forked worker has a copy.
fn an_unshared_lock_is_detected(bench: &Bench) {
    struct Private(AtomicBool);

    impl Lock for Private {
        type Hold = ();

        fn join(&self) -> Result<(), CaseError> {
            Ok(())
        }

        fn acquire(&self, (): &mut ()) {
            while self.0.swap(true, Ordering::Acquire) {
                std::thread::sleep(std::time::Duration::from_micros(10));
            }
        }

        fn release(&self, (): &mut ()) {
            self.0.store(false, Ordering::Release);
        }
    }

    let run = |workers_are| {
        let lock = Private(AtomicBool::new(false));
        let params = params("10", workers_are);
        bench.round(&params, Mode::Sample, |params, round| lock::measure(params, round, &lock)).1
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
