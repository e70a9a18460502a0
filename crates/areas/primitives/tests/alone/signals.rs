//! Runs every signal, exception and timer in real rounds: each operation happens, the number of its system calls and switches is
//! as declared, and no handler, mask or child is left afterwards.
//!
//! Signals to a process may be delivered to any of its threads, and its handlers are those of all threads.

use catalog::{Case, Extent};
use measure::record::{Line, OperationCounts};
use measure::round::Mode;
use measure::{CaseError, Params};
use primitives::{signal, timer};
use rehearsal::Outcome;
use testing::{Completion, Trial};

/// Two tests for each point of this system, and one for each case of other systems.
pub fn of_cases() -> impl Iterator<Item = Trial> {
    [&signal::AREA, &timer::AREA].into_iter().flat_map(|area| area.cases.iter().copied()).flat_map(
        |case| {
            if case.missing_here().is_some() {
                let name = format!("signals::{}_is_missing", case.label());
                return vec![testing::test(name, || missing(case))];
            }
            let of_point = |params: Params| {
                let (name, sampled) = (rehearsal::name(case, &params), params.clone());
                [
                    testing::test(format!("signals::round_of_{name}"), move || {
                        gives_samples(case, &sampled);
                    }),
                    testing::test(format!("signals::counts_of_{name}"), move || {
                        counts_are_as_expected(case, &params)
                    }),
                ]
            };
            points(case).into_iter().flat_map(of_point).collect()
        },
    )
}

/// Points of a default run.
fn points(case: &Case) -> Vec<Params> {
    let mut points = rehearsal::default_points(case);
    points.retain(|params| catalog::includes(case, params, Extent::Ordinary));
    points
}

fn round(case: &Case, params: &Params, mode: Mode) -> Outcome {
    let order = rehearsal::order(&case.label(), params, mode);
    rehearsal::round(&order, |round| (case.run)(params, round))
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
    let tracepoint = match rehearsal::tracepoint() {
        Ok(tracepoint) => tracepoint,
        Err(not_counted) => return not_counted,
    };
    let (lines, result) = round(case, params, Mode::Count(tracepoint));
    match result {
        Ok(()) => {}
        Err(CaseError::Unsupported(reason)) => return Completion::ignored_with(reason),
        Err(case_error) => panic!("{case_error}"),
    }
    check(&case.label(), rehearsal::counts(&lines));
    Completion::Completed
}

fn check(name: &str, counts: &OperationCounts) {
    assert!(counts.expected_syscalls.is_none_or(|calls| calls == 0.0) || counts.syscalls.is_some());
    rehearsal::check_calls(name, counts);
    if let Some(expected) = counts.expected_switches {
        let counted = counts.voluntary_switches.unwrap_or(0) as f64 / counts.operations as f64;
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

#[cfg(target_os = "linux")]
pub mod linux {
    use measure::{Round, RoundOrder};
    use testing::until_some;

    use super::*;
    use crate::children;

    /// A test for each case with a partner process.
    pub fn of_killed() -> impl Iterator<Item = Trial> {
        ["signal/kill", "signal/sigqueue-process"].into_iter().map(|name| {
            let test = format!("signals::partner_killed_in_{name}");
            testing::test(test, move || partner_killed(name))
        })
    }

    /// Checks that a round whose partner process is killed ends with an error instead of waiting for an answer.
    fn partner_killed(name: &str) -> Completion {
        if let Some(left_out) = children::are_not_listed() {
            return left_out;
        }
        let case = rehearsal::case(&[&signal::AREA, &timer::AREA], name);
        let params = points(case).remove(0);
        let order = rehearsal::order(&case.label(), &params, Mode::Sample);
        // The round lasts until its limit, also after its partner was killed.
        let order = RoundOrder { quiet_samples: 1_000_000, limit_ms: 5_000, ..order };
        let tester = platform::process::fork(|| {
            let result = (case.run)(&params, &mut Round::new(&order, &mut std::io::sink()));
            match result {
                Err(CaseError::Failed(text))
                    if text.contains("succeeded at first, then failed") =>
                {
                    0
                }
                _ => 1,
            }
        });
        let mut tester = tester.expect("a forked process");
        let partner = until_some(|| {
            assert_eq!(tester.try_wait(), None, "the round has no partner");
            children::of(tester.pid() as i32)
                .into_iter()
                .find(|&partner| children::has_answered(partner))
        });
        // SAFETY: takes numbers; the process is a child of the tester, which has not ended.
        assert_eq!(unsafe { libc::kill(partner as i32, libc::SIGKILL) }, 0);
        assert_eq!(tester.wait(), Ok(()));
        Completion::Completed
    }
}
