//! Figures of many runs at once, and what thinning leaves.

use super::*;
use crate::document::PerOp;
use crate::samples::next_run;
use crate::store::{RunFigure, StoredPrediction};

/// Drops what a store of an earlier build lacks.
const AS_BEFORE: &str = "DROP TABLE packed_figures; DROP TABLE accepted_events;";

fn full(case: &str, ns: f64) -> CaseResult {
    CaseResult {
        cycles: Some(Interval { median: 3.0 * ns, low: 2.9 * ns, high: 3.1 * ns }),
        per_op: Some(PerOp { syscalls: Some(2.0), ..PerOp::default() }),
        next_run: Some(next_run([0.9 * ns, 1.1 * ns], 0.03)),
        ..measured(case, ns)
    }
}

fn is_close(one: f64, other: f64) -> bool {
    one == other || (one / other - 1.0).abs() < 1e-6
}

/// A figure is exact, and what surrounds it is as exact as 32 bits are.
fn are_close(one: &RunFigure, other: &RunFigure) -> bool {
    let numbers = |figure: &RunFigure| {
        let cycles = figure.cycles.unwrap_or(Interval { median: 0.0, low: 0.0, high: 0.0 });
        let none = StoredPrediction { low: 0.0, high: 0.0, deviation: 0.0, degrees: 0.0 };
        let next = figure.next.unwrap_or(none);
        [
            figure.figure.low,
            figure.figure.high,
            cycles.median,
            cycles.low,
            cycles.high,
            next.low,
            next.high,
            next.deviation,
            next.degrees,
            figure.syscalls.unwrap_or(0.0),
            figure.voluntary_switches.unwrap_or(-1.0),
        ]
    };
    let words = |figure: &RunFigure| (figure.rounds, figure.is_sampled, figure.is_doubtful);
    one.figure.median == other.figure.median
        && words(one) == words(other)
        && numbers(one).into_iter().zip(numbers(other)).all(|(one, other)| is_close(one, other))
}

#[test]
fn figures_of_many_runs_are_those_of_their_documents() {
    let (_folder, mut store) = new_store();
    let nights = ["2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"];
    for (night, started) in nights.iter().enumerate() {
        let id = format!("night-{night}");
        begin(&mut store, &id, started);
        let mut results =
            vec![full("lock/futex", 20.1 + night as f64), unsupported("lock/sysv-sem")];
        if night == 1 {
            results.push(measured("lock/mutex", f64::INFINITY));
            results.push(measured("lock/spin", 7.25));
        }
        store.put_results(&id, &results).expect("put");
        store.finish_run(&id, started).expect("finished");
    }
    let ids = ["night-0", "night-1", "night-2"];
    let check = |store: &Store| {
        let series = store.figures(&ids, |case| case != "lock/mutex").expect("figures");
        let names = series.iter().map(|one| (one.point.case.as_str(), one.figures.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("lock/futex", 3), ("lock/spin", 1)]);
        for metric in &series {
            for (run, figure) in metric.figures.iter() {
                let document = store.document(ids[run]).expect("a document");
                let result = document.results.iter().find(|result| result.point() == metric.point);
                let expected = RunFigure::of(result.expect("the result")).expect("measured");
                assert!(are_close(&figure, &expected), "{figure:?} {expected:?}");
            }
        }
    };
    check(&store);
    assert_eq!(store.finished_runs().expect("runs").len(), 3);
    // A store of an earlier build has documents only; opening it for writing adds the tables.
    beside(&store).execute_batch(AS_BEFORE).expect("as before");
    let path = store.path().to_owned();
    drop(store);
    let store = Store::open_read_only(&path).expect("opened for reading");
    check(&store);
    assert_eq!(store.accepted_events().expect("none"), BTreeMap::new());
    drop(store);
    let mut store = Store::open(&path).expect("opened again");
    check(&store);
    store.accept_event("night-2/x/worse", "known", "2026-11-23T00:00:00Z").expect("accepted");
    assert_eq!(store.accepted_events().expect("one").len(), 1);
}

#[test]
fn figures_that_are_damaged_are_an_error() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-20T02:00:00Z");
    store.put_results("a", &[full("lock/futex", 20.0)]).expect("put");
    for (damage, said) in [
        ("UPDATE packed_figures SET body = substr(body, 1, length(body) - 1)", "are cut short"),
        ("DELETE FROM texts WHERE text LIKE '%metric%'", "name a text that is not there"),
    ] {
        beside(&store).execute_batch(damage).expect("damaged");
        let error = store.figures(&["a"], |_| true).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
        store.put_results("a", &[full("lock/futex", 20.0)]).expect("put again");
    }
    store.figures(&["b"], |_| true).expect_err("no such run");
}

#[test]
fn thinning_makes_the_store_smaller() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "old", "2026-08-01T02:00:00Z");
    (0..150).for_each(|seq| store.add_round("old", &round(seq)).expect("stored"));
    store.finish_run("old", "2026-08-01T02:00:00Z").expect("finished");
    let at: jiff::Timestamp = "2026-10-01T00:00:00Z".parse().expect("a time");
    let thinned = store.thin(at.as_microsecond()).expect("thinned");
    assert!(thinned.after < thinned.before, "{thinned:?}");
}
