//! Runs every operation in real rounds of one and several workers: all workers are measured, the number of system calls is as
//! declared, objects are shared or not as requested, and an operation that fails is detected.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use catalog::Case;
use measure::record::{OperationCounts, Series};
use measure::round::Mode;
use measure::{CaseError, Params, Round, RoundOrder};
use platform::cpu::topology::Distance;
use platform::memory::shared::Shared;
use primitives::scale;
use rehearsal::Outcome;
use testing::{Completion, Trial};

/// Two tests for each point with one and three workers.
pub fn of_cases() -> impl Iterator<Item = Trial> {
    let of_case = |case: &'static Case| points(case).into_iter().map(move |point| (case, point));
    crate::of_this_system(scale::AREA.cases).flat_map(of_case).flat_map(|(case, params)| {
        let share = params.get("share").map_or("nothing", String::as_str);
        let name = format!("{}_{}_{}_{share}", case.name, params["workers"], params["as"]);
        let of_round = params.clone();
        [
            testing::test(format!("scale::workers_of_{name}"), move || {
                all_workers_are_measured(case, &of_round);
            }),
            testing::test(format!("scale::calls_of_{name}"), move || {
                system_calls_are_as_expected(case, &params)
            }),
        ]
    })
}

/// All points with one and three workers that this system supports.
fn points(case: &Case) -> Vec<Params> {
    rehearsal::combinations(case, |param| {
        let values: &[&str] = if param.name == "workers" { &["1", "3"] } else { param.full };
        let has = |value: &&str| cfg!(unix) || *value != "processes";
        values.iter().copied().filter(has).collect()
    })
}

fn params(workers: &str, workers_are: &str, share: &str) -> Params {
    rehearsal::params(&[("workers", workers), ("as", workers_are), ("share", share)])
}

/// Kinds of workers: threads, and processes on systems with fork.
fn kinds() -> &'static [&'static str] {
    if cfg!(unix) { &["threads", "processes"] } else { &["threads"] }
}

fn round(
    params: &Params,
    mode: Mode,
    run: impl Fn(&Params, &mut Round) -> Result<(), CaseError>,
) -> Outcome {
    let order = rehearsal::order("scale/under-test", params, mode);
    let order = RoundOrder { core_bound: false, quiet_samples: 10, limit_ms: 5, ..order };
    rehearsal::round(&order, |round| run(params, round))
}

fn all_workers_are_measured(case: &Case, params: &Params) {
    let (lines, result) = round(params, Mode::Sample, case.run);
    if let Err(CaseError::Unsupported(reason)) = &result {
        println!("{}: {reason}", case.name);
        return;
    }
    assert_eq!(result, Ok(()));
    let series: Vec<&Series> = rehearsal::series(&lines).collect();
    let several = params["workers"] != "1";
    // Each worker reports one series of full batches, and one of its other operations.
    let expected = if several { 3..=6 } else { 1..=1 };
    assert!(expected.contains(&series.len()), "{} series", series.len());
    assert!(series.iter().all(|series| !series.samples.is_empty() && series.contended == several));
    let metrics: Vec<&str> =
        rehearsal::metrics(&lines).map(|metric| metric.name.as_str()).collect();
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
    Some(rehearsal::counts(&lines).clone())
}

fn system_calls_are_as_expected(case: &Case, params: &Params) -> Completion {
    let tracepoint = match rehearsal::tracepoint() {
        Ok(tracepoint) => tracepoint,
        Err(not_counted) => return not_counted,
    };
    let Some(counts) = counts_of(params, Mode::Count(tracepoint), case.run) else {
        return Completion::Completed;
    };
    rehearsal::check_calls(case.name, &counts);
    if let (Some(expected), Some(counted)) = (counts.expected_faults, counts.page_faults) {
        let counted = counted as f64 / counts.operations as f64;
        assert!(counted >= expected * 0.95, "{counted} page faults, not {expected}");
    }
    Completion::Completed
}

pub fn an_operation_that_fails_is_noticed() {
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

pub fn objects_are_shared_as_asked_for() {
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
pub fn every_worker_operates() {
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

pub fn cpus_too_far_apart_are_unsupported() {
    let case = rehearsal::case(&[&scale::AREA], "scale/malloc");
    let allowed = platform::cpu::allowed();
    for (place, distance) in [
        ("smt", Distance::Thread),
        ("core", Distance::Core),
        ("cache", Distance::Cache),
        ("socket", Distance::Socket),
    ] {
        let mut params = params("2", "threads", "own");
        params.insert("place".into(), place.into());
        let (lines, result) = round(&params, Mode::Sample, case.run);
        match platform::cpu::topology::here(&allowed).cpus_apart(distance) {
            Err(reason) => assert_eq!(result, Err(reason)),
            Ok(cpus) => {
                assert_eq!(result, Ok(()));
                let used: BTreeSet<usize> =
                    rehearsal::series(&lines).filter_map(|s| s.cpu).collect();
                assert_eq!(used, cpus[..2].iter().copied().collect());
            }
        }
    }
}
