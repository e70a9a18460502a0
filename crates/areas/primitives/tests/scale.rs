//! Runs every operation in real rounds of one and several workers: all workers are measured, the number of system calls is as
//! declared, objects are shared or not as requested, and an operation that fails is detected.
//!
//! A round of processes forks, which a process with other threads must not do. So these tests run one after the other on the main
//! thread, without the usual test harness.

use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use catalog::Case;
use libtest_mimic::{Arguments, Completion, Trial};
use measure::record::{Line, OperationCounts, Series, parse_lines};
use measure::round::Mode;
use measure::survey::{ClockFacts, survey};
use measure::{CaseError, Params, Round, RoundOrder};
use platform::memory::shared::Shared;
use primitives::scale;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let mut trials = vec![
        test("an_operation_that_fails_is_noticed", an_operation_that_fails_is_noticed),
        test("objects_are_shared_as_asked_for", objects_are_shared_as_asked_for),
        test("every_worker_operates", every_worker_operates),
        test("cpus_too_far_apart_are_unsupported", cpus_too_far_apart_are_unsupported),
    ];
    for case in scale::AREA.cases.iter().filter(|case| case.missing_here().is_none()) {
        for params in points(case) {
            let name = format!(
                "{}_{}_{}_{}",
                case.name,
                params["workers"],
                params["as"],
                params.get("share").map_or("nothing", String::as_str)
            );
            let of_round = params.clone();
            trials.push(test(format!("workers_of_{name}"), move || {
                all_workers_are_measured(case, &of_round);
            }));
            trials.push(Trial::ignorable_test(format!("calls_of_{name}"), move || {
                Ok(system_calls_are_as_expected(case, &params))
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn test(name: impl Into<String>, check: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        check();
        Ok(())
    })
}

/// All points with one and three workers that this system supports.
fn points(case: &Case) -> Vec<Params> {
    let mut points = vec![Params::new()];
    for param in case.params {
        let values: &[&str] = if param.name == "workers" { &["1", "3"] } else { param.full };
        let has = |value: &&&str| cfg!(unix) || **value != "processes";
        points = points
            .into_iter()
            .flat_map(|point| {
                values.iter().filter(has).map(move |value| {
                    let mut point = point.clone();
                    point.insert(param.name.to_owned(), (*value).to_owned());
                    point
                })
            })
            .collect();
    }
    points
}

fn params(workers: &str, workers_are: &str, share: &str) -> Params {
    [("workers", workers), ("as", workers_are), ("share", share)]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
}

/// Kinds of workers: threads, and processes on systems with fork.
fn kinds() -> &'static [&'static str] {
    if cfg!(unix) { &["threads", "processes"] } else { &["threads"] }
}

fn round(
    params: &Params,
    mode: Mode,
    run: impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
) -> (Vec<Line>, Result<(), CaseError>) {
    static CLOCK: LazyLock<ClockFacts> = LazyLock::new(|| survey().remove(0));
    let order = RoundOrder {
        case: "scale/under-test".into(),
        params: params.clone(),
        core_bound: false,
        mode,
        clock: CLOCK.clone(),
        cpus: platform::cpu::allowed(),
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

fn all_workers_are_measured(case: &Case, params: &Params) {
    let (lines, result) = round(params, Mode::Sample, case.run);
    if let Err(CaseError::Unsupported(reason)) = &result {
        println!("{}: {reason}", case.name);
        return;
    }
    assert_eq!(result, Ok(()));
    let series: Vec<&Series> =
        lines.iter().filter_map(|l| if let Line::Series(s) = l { Some(s) } else { None }).collect();
    let several = params["workers"] != "1";
    // Each worker reports one series of full batches, and one of its other operations.
    let expected = if several { 3..=6 } else { 1..=1 };
    assert!(expected.contains(&series.len()), "{} series", series.len());
    assert!(series.iter().all(|series| !series.samples.is_empty() && series.contended == several));
    let metrics: Vec<&str> = lines
        .iter()
        .filter_map(|l| if let Line::Metric(m) = l { Some(m.name.as_str()) } else { None })
        .collect();
    let promised: Vec<&str> = case.metrics.iter().map(|metric| metric.name).collect();
    // The scaling factor is derived from several points, and a single worker has no shares.
    assert_eq!(metrics, promised[..if several { promised.len() - 1 } else { 2 }]);
}

fn counts_of(
    params: &Params,
    mode: Mode,
    run: impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
) -> Option<OperationCounts> {
    let (lines, result) = round(params, mode, run);
    if matches!(result, Err(CaseError::Unsupported(_))) {
        return None;
    }
    assert_eq!(result, Ok(()));
    let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
    assert!(counts.operations > 0);
    Some(counts.clone())
}

fn system_calls_are_as_expected(case: &Case, params: &Params) -> Completion {
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
    let Some(counts) = counts_of(params, Mode::Count(tracepoint), case.run) else {
        return Completion::Completed;
    };
    let per_operation = |count: u64| count as f64 / counts.operations as f64;
    if let (Some(expected), Some(counted)) = (counts.expected_syscalls, counts.syscalls) {
        let counted = per_operation(counted);
        assert!((counted - expected).abs() < 1e-9, "{counted} calls, not {expected}");
    }
    if let (Some(expected), Some(counted)) = (counts.expected_faults, counts.page_faults) {
        let counted = per_operation(counted);
        assert!(counted >= expected * 0.95, "{counted} page faults, not {expected}");
    }
    Completion::Completed
}

fn an_operation_that_fails_is_noticed() {
    for workers_are in kinds() {
        for workers in ["1", "3"] {
            let params = params(workers, workers_are, "own");
            // After the first operation and the three that warm up, a worker carries out at least one, however little time it
            // gets.
            const IN_A_WORKER: u64 = 1 + 3;
            let done = Shared::new(AtomicU64::new(0)).unwrap();
            let (_, result) = round(&params, Mode::CountRest, |params, round| {
                scale::scale(
                    params,
                    round,
                    "it",
                    |_| Ok(()),
                    |()| done.fetch_add(1, Ordering::Relaxed) != IN_A_WORKER,
                )
            });
            let noticed = "it worked at first, then failed 1 times";
            assert_eq!(result, Err(CaseError::Failed(noticed.into())), "{workers} {workers_are}");
            let (lines, result) = round(&params, Mode::CountRest, |params, round| {
                scale::scale(params, round, "it", |_| Ok(()), |()| false)
            });
            assert!(result.is_err() && lines.is_empty(), "{result:?}");
            let refused = CaseError::Unsupported("no such object".into());
            let (_, result) = round(&params, Mode::CountRest, |params, round| {
                scale::scale(params, round, "it", |_| Err::<(), _>(refused.clone()), |()| true)
            });
            assert_eq!(result, Err(refused));
        }
    }
}

fn objects_are_shared_as_asked_for() {
    for workers_are in kinds() {
        for (share, expected) in [("own", 1 + 3), ("same", 1)] {
            let made = Shared::new(AtomicUsize::new(0)).unwrap();
            let (_, result) =
                round(&params("3", workers_are, share), Mode::CountRest, |p, round| {
                    let make = |_| Ok(made.fetch_add(1, Ordering::Relaxed));
                    scale::scale(p, round, "it", make, |_| true)
                });
            assert_eq!(result, Ok(()));
            assert_eq!(made.load(Ordering::Relaxed), expected, "{workers_are} {share}");
        }
    }
}

/// The workers report all operations, except for a few warm-up ones.
fn every_worker_operates() {
    for workers_are in kinds() {
        let done = Shared::<[AtomicU64]>::list(4, AtomicU64::default).unwrap();
        let counts = counts_of(&params("3", workers_are, "own"), Mode::CountRest, |p, round| {
            scale::scale(p, round, "it", Ok, |&number| {
                done[number].fetch_add(1, Ordering::Relaxed);
                true
            })
        });
        let each: Vec<u64> = done.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let all: u64 = each.iter().sum();
        assert!(each[..3].iter().all(|&count| count > 3) && each[3] == 1, "{each:?}");
        let reported = counts.expect("it is supported").operations;
        assert!((reported..=reported + 3 * 3 + 1).contains(&all), "{all}, reported {reported}");
    }
}

fn cpus_too_far_apart_are_unsupported() {
    let case = rehearsal::case(&[&scale::AREA], "scale/malloc");
    let allowed = platform::cpu::allowed();
    for (place, distance) in [
        ("smt", platform::cpu::topology::Distance::Thread),
        ("core", platform::cpu::topology::Distance::Core),
        ("cache", platform::cpu::topology::Distance::Cache),
        ("socket", platform::cpu::topology::Distance::Socket),
    ] {
        let mut params = params("2", "threads", "own");
        params.insert("place".into(), place.into());
        let (lines, result) = round(&params, Mode::Sample, case.run);
        match platform::cpu::topology::here(&allowed).cpus_apart(distance) {
            Err(reason) => assert_eq!(result, Err(reason)),
            Ok(cpus) => {
                assert_eq!(result, Ok(()));
                let used = lines.iter().filter_map(|line| match line {
                    Line::Series(series) => series.cpu,
                    _ => None,
                });
                let used: std::collections::BTreeSet<usize> = used.collect();
                assert_eq!(used, cpus[..2].iter().copied().collect());
            }
        }
    }
}
