//! Runs every signal, exception and timer in real rounds: each operation happens, the number of its system calls and switches is
//! as declared, and no handler, mask or child is left afterwards.
//!
//! Signals to a process may be delivered to any of its threads, and its handlers are those of all threads. So these tests run one
//! after the other on the main thread of a process without other threads, as in a worker.

use std::process::ExitCode;
use std::sync::LazyLock;

use catalog::{Case, Extent};
use libtest_mimic::{Arguments, Completion, Trial};
use measure::record::{Line, OperationCounts, parse_lines};
use measure::round::Mode;
use measure::survey::{ClockFacts, survey};
use measure::{CaseError, Params, Round, RoundOrder};
use primitives::{signal, timer};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    LazyLock::force(&BENCH);
    let mut trials = Vec::new();
    for case in [&signal::AREA, &timer::AREA].iter().flat_map(|area| area.cases) {
        if case.missing_here().is_some() {
            trials.push(Trial::test(format!("{}_is_missing", case.label()), || {
                missing(case);
                Ok(())
            }));
            continue;
        }
        for params in points(case) {
            let name = name_of(case, &params);
            let sampled = params.clone();
            trials.push(Trial::test(format!("round_of_{name}"), move || {
                gives_samples(case, &sampled);
                Ok(())
            }));
            trials.push(Trial::ignorable_test(format!("counts_of_{name}"), move || {
                Ok(counts_are_as_expected(case, &params))
            }));
        }
    }
    #[cfg(target_os = "linux")]
    for name in ["signal/kill", "signal/sigqueue-process"] {
        let test = format!("partner_killed_in_{name}");
        trials.push(Trial::ignorable_test(test, move || Ok(partner_killed(name))));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

static BENCH: LazyLock<Bench> =
    LazyLock::new(|| Bench { clock: survey().remove(0), cpus: platform::cpu::allowed() });

/// Facts about this machine that a round needs.
struct Bench {
    clock: ClockFacts,
    cpus: Vec<usize>,
}

/// Points of a default run.
fn points(case: &Case) -> Vec<Params> {
    let mut points = vec![Params::new()];
    for param in case.params {
        let with = |value: &&str, mut point: Params| {
            point.insert(param.name.to_owned(), (*value).to_owned());
            point
        };
        let longer = |point: Params| param.default.iter().map(move |v| with(v, point.clone()));
        points = points.into_iter().flat_map(longer).collect();
    }
    points.retain(|params| catalog::includes(case, params, Extent::Ordinary));
    points
}

fn name_of(case: &Case, params: &Params) -> String {
    let params: Vec<String> = params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{}{{{}}}", case.label(), params.join(","))
}

fn order(case: &Case, params: &Params, mode: Mode) -> RoundOrder {
    RoundOrder {
        case: case.label(),
        params: params.clone(),
        core_bound: false,
        mode,
        clock: BENCH.clock.clone(),
        cpus: BENCH.cpus.clone(),
        level: None,
        ns_per_iteration: None,
        quiet_samples: 5,
        limit_ms: 20,
        slow_down: 0.0,
        partner_batches: 1.0,
        parent: None,
        is_here: false,
        user: None,
    }
}

fn round(case: &Case, params: &Params, mode: Mode) -> (Vec<Line>, Result<(), CaseError>) {
    let order = order(case, params, mode);
    let mut out = Vec::new();
    let result = (case.run)(params, &mut Round::new(&order, &mut out));
    (parse_lines(std::str::from_utf8(&out).expect("JSON is UTF-8")), result)
}

/// Checks that a case of another system gives a reason.
fn missing(case: &Case) {
    for params in points(case) {
        let (lines, result) = round(case, &params, Mode::Sample);
        assert!(matches!(result, Err(CaseError::Unsupported(_))), "{result:?}");
        assert_eq!(lines, []);
    }
}

/// Checks that a round gives samples and all declared metrics, or the reason why the system lacks the case; that it changes no
/// handler and no mask, and leaves no child.
fn gives_samples(case: &Case, params: &Params) {
    #[cfg(unix)]
    let before = unix::State::now();
    let (lines, result) = round(case, params, Mode::Sample);
    #[cfg(unix)]
    assert_eq!(unix::State::now(), before);
    match result {
        Ok(()) => {}
        Err(CaseError::Unsupported(reason)) => {
            testing::not_applicable(&reason);
            return;
        }
        Err(case_error) => panic!("{case_error}"),
    }
    let (mut samples, mut metrics) = (0, Vec::new());
    for line in &lines {
        match line {
            Line::Series(series) => samples += series.samples.len(),
            Line::Metric(metric) => metrics.push(metric.name.as_str()),
            other => panic!("{other:?}"),
        }
    }
    assert!(samples > 0);
    let promised: Vec<&str> = case.metrics.iter().map(|metric| metric.name).collect();
    // Not every system reports the slack of its timers.
    metrics.retain(|name| *name != "timer-slack");
    assert!(promised.iter().filter(|name| **name != "timer-slack").eq(&metrics), "{metrics:?}");
}

/// Checks that one operation makes exactly the system calls and at least the switches that the case declares.
fn counts_are_as_expected(case: &Case, params: &Params) -> Completion {
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
    let (lines, result) = round(case, params, Mode::Count(tracepoint));
    match result {
        Ok(()) => {}
        Err(CaseError::Unsupported(reason)) => return Completion::ignored_with(reason),
        Err(case_error) => panic!("{case_error}"),
    }
    let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
    check(counts);
    Completion::Completed
}

fn check(counts: &OperationCounts) {
    assert!(counts.operations > 0);
    let per_operation = |count: Option<u64>| count.unwrap_or(0) as f64 / counts.operations as f64;
    if let Some(expected) = counts.expected_syscalls {
        let counted = per_operation(counts.syscalls);
        assert!((counted - expected).abs() < 1e-9, "{counted} system calls, not {expected}");
    }
    if let Some(expected) = counts.expected_switches {
        let counted = per_operation(counts.voluntary_switches);
        assert!(counted >= expected, "{counted} switches, not {expected}");
    }
}

#[cfg(unix)]
mod unix {
    const SIGNALS: [libc::c_int; 5] =
        [libc::SIGUSR1, libc::SIGCHLD, libc::SIGALRM, libc::SIGSEGV, libc::SIGBUS];

    /// State that a round must restore.
    #[derive(Debug, PartialEq, Eq)]
    pub struct State {
        handlers: Vec<usize>,
        blocked: Vec<libc::c_int>,
        has_children: bool,
    }

    impl State {
        pub fn now() -> Self {
            // SAFETY: all-zero values are valid; the calls change nothing.
            unsafe {
                let handler = |signal| {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, std::ptr::null(), &mut action);
                    action.sa_sigaction
                };
                let mut mask: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
                let is_blocked = |signal: &libc::c_int| libc::sigismember(&mask, *signal) == 1;
                Self {
                    handlers: SIGNALS.map(handler).into(),
                    blocked: (1..=64).filter(is_blocked).collect(),
                    has_children: libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) >= 0,
                }
            }
        }
    }
}

/// Checks that a round whose partner process is killed ends with an error instead of waiting for an answer.
#[cfg(target_os = "linux")]
fn partner_killed(name: &str) -> Completion {
    let case = rehearsal::case(&[&signal::AREA, &timer::AREA], name);
    let params = points(case).remove(0);
    let tester = platform::process::fork(|| {
        // The number of samples is much larger than the round takes until the partner is killed.
        let samples = RoundOrder {
            quiet_samples: 1_000_000,
            limit_ms: 2_000,
            ..order(case, &params, Mode::Sample)
        };
        let result = (case.run)(&params, &mut Round::new(&samples, &mut std::io::sink()));
        match result {
            Err(CaseError::Failed(text)) if text.contains("succeeded at first, then failed") => 0,
            _ => 1,
        }
    });
    let mut tester = tester.expect("a forked process");
    let children = format!("/proc/{0}/task/{0}/children", tester.pid());
    let partner = loop {
        let Ok(text) = std::fs::read_to_string(&children) else {
            return Completion::ignored_with("/proc does not list children");
        };
        if let Some(pid) = text.split_whitespace().next() {
            break pid.to_owned();
        }
        assert_eq!(tester.try_wait(), None, "the round has no partner");
    };
    // The partner is killed after it has answered for a while.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let killed = std::process::Command::new("kill").args(["-KILL", &partner]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    assert_eq!(tester.wait(), Ok(()));
    Completion::Completed
}
