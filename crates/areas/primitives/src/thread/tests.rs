use std::collections::BTreeSet;

use measure::round::Mode;
use measure::{CaseError, Params};
use rehearsal::params;

use super::*;

#[test]
fn every_case_gives_samples_and_counts_as_declared() {
    rehearsal::check(CASES);
}

#[test]
fn the_other_threads_live_until_they_are_ended() {
    let others = SleepingThreads::beside_this(&params(&[("threads", "20")])).unwrap();
    assert_eq!(others.living(), 19);
    drop(others);
    let none = SleepingThreads::beside_this(&params(&[("threads", "1")])).unwrap();
    assert_eq!(none.living(), 0);
}

#[test]
fn a_thread_that_does_not_run_is_noticed() {
    let order = rehearsal::order("thread/x", &Params::new(), Mode::Sample);
    let ran = std::sync::atomic::AtomicU32::new(0);
    let thread = || {
        // Each tenth "thread" is never started.
        let number = ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        number % 10 != 9 && std::thread::spawn(move || number).join().is_ok_and(|n| n == number)
    };
    let (_, result) = rehearsal::round(&order, |round| round.time_call("a thread", thread));
    assert!(matches!(result, Err(CaseError::Failed(_))), "{result:?}");
}

#[test]
fn a_wake_up_reports_what_it_declares() {
    for case in CASES.iter().filter(|case| case.name.starts_with("wake-")) {
        let params = params(&[("place", "same"), ("asleep", "50us")]);
        let (lines, result) = rehearsal::run(case, &params, Mode::Sample);
        match result {
            Err(CaseError::Unsupported(reason)) => {
                println!("{}: {reason}", case.name);
                continue;
            }
            other => assert_eq!(other, Ok(()), "{}", case.name),
        }
        let metrics: Vec<(&str, f64)> =
            rehearsal::metrics(&lines).map(|metric| (metric.name.as_str(), metric.value)).collect();
        let declared: BTreeSet<&str> = case.metrics.iter().map(|metric| metric.name).collect();
        assert_eq!(metrics.iter().map(|&(name, _)| name).collect::<BTreeSet<_>>(), declared);
        let [(_, p90), (_, p99)] = metrics[..] else { panic!("{metrics:?}") };
        let median = rehearsal::series(&lines).find_map(|series| series.samples.first().copied());
        let median = f64::from(median.expect("a time"));
        assert!(median > 0.0 && median <= p90 * 1.001 && p90 <= p99, "{median} {metrics:?}");
    }
}

#[test]
fn a_quick_run_has_a_point_of_each_case() {
    use crate::Extent;
    for case in CASES {
        let points = rehearsal::default_points(case);
        let few = points.iter().filter(|point| includes(point, Extent::Quick)).count();
        assert!(few >= 1 && few <= points.len(), "{}", case.name);
        assert!(points.iter().all(|point| includes(point, Extent::Ordinary)));
    }
}
