pub(crate) mod machines;

use std::collections::BTreeMap;

use measure::stats::{LEVEL, t_quantile};
use results::{Document, Source};
use serde_json::json;

use super::*;
use machines::{Course, Machine};

/// The runs of a course, each with its stored prediction.
pub(crate) fn predicted(runs: &[Document]) -> Vec<Document> {
    let mut history = History::default();
    let predict = |run: &Document| {
        let mut run = run.clone();
        history.predict(&mut run);
        history.add(&run);
        run
    };
    runs.iter().map(predict).collect()
}

/// How often the next run lay within the prediction, over many machines with this course, by number of visits before and by
/// cause; and the mean width from the fifth visit on, divided by that of an oracle that knows the true deviation.
struct Told {
    by_visits: BTreeMap<usize, (usize, usize)>,
    by_cause: BTreeMap<Cause, (usize, usize)>,
    against_oracle: f64,
}

fn told(course: Course, visits: usize, machines: u64) -> Told {
    let mut told =
        Told { by_visits: BTreeMap::new(), by_cause: BTreeMap::new(), against_oracle: 0.0 };
    let (mut widths, mut oracles) = (0.0, 0.0);
    for seed in 0..machines {
        let mut machine = Machine::new(course, seed);
        let runs: Vec<Document> = (0..=visits).map(|_| machine.visit()).collect();
        let mut history = History::default();
        for (at, run) in runs[..visits].iter().enumerate() {
            let mut run = run.clone();
            history.predict(&mut run);
            history.add(&run);
            for (now, next) in run.results.iter().zip(&runs[at + 1].results) {
                let said = now.next_run.expect("it has an interval");
                let figure = next.estimate.expect("measured").median;
                let is_inside = usize::from((said.low..=said.high).contains(&figure));
                let count = |(all, inside): &mut (usize, usize)| {
                    *all += 1;
                    *inside += is_inside;
                };
                count(told.by_visits.entry(at + 1).or_default());
                if at > 0 {
                    count(told.by_cause.entry(Cause::of(now)).or_default());
                }
                if at >= 4 {
                    let known = machine.deviation(now) * (1.0 + 1.0 / (at + 1) as f64).sqrt();
                    widths += (said.high / said.low).ln() / 2.0;
                    oracles += 1.96 * known;
                }
            }
        }
    }
    told.against_oracle = widths / oracles;
    told
}

fn share((all, inside): (usize, usize)) -> f64 {
    inside as f64 / all as f64
}

fn sum<'a>(counts: impl Iterator<Item = &'a (usize, usize)>) -> (usize, usize) {
    counts.fold((0, 0), |(all, inside), (more, of_them)| (all + more, inside + of_them))
}

/// Checks machines with 3 to 6 states, that stay in one from visit to visit, drift, are skewed, or change for good; after 1 to 40
/// visits.
#[test]
fn the_next_run_lies_where_it_was_said_to_on_all_kinds_of_machines() {
    for course in Course::ALL {
        let told = told(course, 40, 8);
        let first = share(told.by_visits[&1]);
        assert!(first >= 0.90, "{course:?}: {first:.3} after the first run");
        let later = share(sum(told.by_visits.iter().filter(|(at, _)| **at > 1).map(|(_, c)| c)));
        eprintln!(
            "{course:?}: first {first:.3}, later {later:.3}, against the oracle {:.2}",
            told.against_oracle
        );
        for (cause, counts) in &told.by_cause {
            eprintln!("  {cause}: {:.3}", share(*counts));
        }
        assert!(later >= 0.93, "{course:?}: {later:.3} later");
        for (cause, counts) in &told.by_cause {
            assert!(share(*counts) >= 0.90, "{course:?} {cause}: {:.3}", share(*counts));
        }
    }
}

/// Compares with an oracle that knows the variance of a machine that has one.
#[test]
fn from_five_visits_on_it_is_hardly_wider_than_it_must_be() {
    for course in [Course::States, Course::Skewed, Course::Steady] {
        let told = told(course, 40, 8);
        assert!(told.against_oracle <= 1.5, "{course:?}: {:.2}", told.against_oracle);
    }
}

/// Checks that all rows of a comparison together get a verdict in 5 % of cases at most, for runs of different visits that differ
/// only by the state of the machine.
#[test]
fn equal_runs_of_different_visits_seldom_get_a_verdict() {
    let courses = [Course::Steady, Course::States, Course::Sticky, Course::Skewed];
    let (mut compared, mut wrong) = (0, 0);
    for course in courses {
        for seed in 0..6 {
            let mut machine = Machine::new(course, seed);
            let runs: Vec<Document> = (0..13).map(|_| machine.separate_visit()).collect();
            let runs = predicted(&runs);
            for pair in [[0, 1], [2, 3], [4, 5], [0, 6], [7, 8], [9, 10], [11, 12]] {
                let [base, new] = pair.map(|at| &runs[at]);
                let rows = crate::compare(base, new, &crate::Settings::default());
                compared += 1;
                wrong += usize::from(rows.iter().any(|row| row.verdict.is_difference()));
            }
        }
    }
    eprintln!("{wrong} of {compared} comparisons of equal runs have a verdict");
    assert!(wrong * 100 <= compared * 6, "{wrong} of {compared}");
}

/// Checks the difference that `noise` reports as detected, and twice that difference.
#[test]
fn a_slow_down_of_twice_what_is_detectable_is_found() {
    let mut found = 0;
    const TRIES: usize = 15;
    for seed in 0..TRIES as u64 {
        let mut machine = Machine::new(Course::States, seed);
        let runs: Vec<Document> = (0..8).map(|_| machine.separate_visit()).collect();
        let said = predicted(&runs);
        let entry = crate::detectable(&said[7]);
        let entry = entry.iter().find(|row| row.cause == Cause::Entry.to_string()).expect("one");
        let slower = 1.0 + 2.0 * entry.difference_of_most;
        let mut new = machine.separate_visit();
        for result in &mut new.results {
            slow_down(result, slower);
        }
        let base = &said[7];
        let mut history = History::default();
        said.iter().for_each(|run| history.add(run));
        history.predict(&mut new);
        let rows = crate::compare(base, &new, &crate::Settings::default());
        let entries = rows.iter().filter(|row| row.point.case.starts_with("syscall/"));
        let slower = entries.filter(|row| row.verdict == crate::Verdict::Slower).count();
        found += usize::from(slower >= 7);
    }
    assert!(found * 10 >= TRIES * 8, "{found} of {TRIES}");
}

pub(crate) fn slow_down(result: &mut CaseResult, factor: f64) {
    result.round_values.iter_mut().for_each(|value| *value *= factor);
    let estimate = result.estimate.as_mut().expect("measured");
    for figure in [&mut estimate.median, &mut estimate.low, &mut estimate.high] {
        *figure *= factor;
    }
    result.cycles = result.cycles.map(|cycles| cycles.scaled(factor));
}

/// Checks that twelve runs within a quarter of an hour, each in the state of the one before in 80 % of cases, count as two
/// visits, not twelve.
#[test]
fn close_runs_that_share_a_state_are_few_visits() {
    let visits = |repeats: f64| -> Vec<u32> {
        let of_machine = |seed: u64| {
            let mut machine = Machine::new(Course::States, seed);
            let mut runs = vec![machine.visit()];
            runs.extend((0..11).map(|_| machine.again(repeats)));
            let run = predicted(&runs).pop().expect("the last");
            let entry = |r: &&CaseResult| Cause::of(r) == Cause::Entry;
            run.results.iter().find(entry).and_then(|r| r.next_run).expect("said").visits
        };
        (0..60).map(of_machine).collect()
    };
    let taken_for_few = |visits: Vec<u32>| visits.iter().filter(|&&visits| visits == 2).count();
    let sticky = taken_for_few(visits(0.8));
    let independent = taken_for_few(visits(0.0));
    assert!(sticky >= 40 && independent <= 32, "{sticky} and {independent} of 60");
}

#[test]
fn the_first_run_says_what_it_assumes_and_the_second_counts_visits_boots_and_days() {
    let mut machine = Machine::new(Course::Steady, 1);
    let runs: Vec<Document> = (0..3).map(|_| machine.visit()).collect();
    let all = predicted(&runs);
    let said = |run: &Document| run.results[0].next_run.expect("said");
    let first = said(&all[0]);
    assert_eq!(
        (first.source, first.visits, first.boots, first.days),
        (Source::AnyProcessor, 1, 1, 1)
    );
    let third = said(&all[2]);
    assert_eq!((third.source, third.visits), (Source::Visits, 3));
    // The runs are six hours apart, in the same boot.
    assert_eq!((third.boots, third.days), (1, 2));
    let width = |run: &Document| (said(run).high / said(run).low).ln();
    assert!(width(&all[2]) < width(&all[0]), "{} {}", width(&all[2]), width(&all[0]));
    // The mean over runs is known better than the next run.
    let mean = all[2].results[0].this_machine.expect("said");
    assert!(mean.low > third.low && mean.high < third.high, "{mean:?} {third:?}");
}

/// Checks a default run, whose rounds are minutes apart: a change between rounds may also occur from run to run.
#[test]
fn a_run_of_minutes_tells_how_the_machine_changes() {
    let deviation = |later: f64, starts_apart_ms: i64| {
        let mut run = Machine::new(Course::Steady, 4).visit();
        for result in run.results.iter_mut().filter(|result| result.case.starts_with("syscall/")) {
            let n = result.round_values.len();
            result.round_values[n / 2..].iter_mut().for_each(|value| *value *= later);
            result.round_starts_ms = (0..n as i64).map(|nth| nth * starts_apart_ms).collect();
        }
        // The prediction that a run stores counts for the second run.
        let mut history = History::default();
        history.add(&run);
        let mut second = run.clone();
        history.predict(&mut second);
        let result = second.results.iter().find(|result| result.case.starts_with("syscall/"));
        result.and_then(|result| result.next_run).expect("said").deviation
    };
    let quick = deviation(1.0, 1_000);
    assert!(deviation(1.2, 30_000) > 1.2 * quick);
    assert!(deviation(1.0, 30_000) < 0.95 * quick);
    assert_eq!(deviation(1.2, 1_000), quick, "its rounds are seconds apart");
}

#[test]
fn another_kernel_has_another_mean_and_the_same_variance() {
    let mut machine = Machine::new(Course::States, 5);
    let mut runs: Vec<Document> = (0..12).map(|_| machine.visit()).collect();
    let mut after = machine.visit();
    after.machine.insert("release".into(), json!("7.0.0"));
    runs.push(after);
    let all = predicted(&runs);
    let said = |run: &Document| run.results[0].next_run.expect("said");
    let (first, last) = (said(&all[0]), said(&all[12]));
    assert_eq!((last.visits, last.source), (1, Source::AnyProcessor));
    assert!(last.degrees > first.degrees + 4.0, "{last:?} {first:?}");
    assert!(last.deviation < first.deviation, "{last:?} {first:?}");
}

#[test]
fn a_figure_without_evidence_for_an_interval_has_none_of_the_next_run() {
    let mut machine = Machine::new(Course::Steady, 1);
    let mut run = machine.visit();
    let estimate = run.results[0].estimate.as_mut().expect("measured");
    (estimate.low, estimate.high) = (f64::NEG_INFINITY, f64::INFINITY);
    run.results[0].cycles = None;
    run.results[0].rounds = 2;
    History::default().predict(&mut run);
    assert_eq!((run.results[0].next_run, run.results[0].this_machine), (None, None));
    assert!(run.results[1].next_run.is_some());
}

/// Checks a share that may be 0: it has no logarithm, but has an interval.
#[test]
fn figures_that_may_be_zero_are_predicted_in_their_unit() {
    let mut machine = Machine::new(Course::Steady, 1);
    let mut run = machine.visit();
    let result = run.results.last_mut().expect("one");
    result.estimate = Some(results::Estimate { median: 0.0, low: -0.1, high: 0.1, level: LEVEL });
    History::default().predict(&mut run);
    let said = run.results.last().and_then(|r| r.next_run).expect("said");
    let error = 0.1 / t_quantile(0.975, f64::from(run.results.last().expect("one").rounds) - 1.0);
    assert!(said.low < -0.1 && said.high > 0.1 && said.deviation >= error, "{said:?}");
}

/// Checks a machine that leaves its known range: predictions are widened until they hold again.
#[test]
fn misses_widen_the_next_predictions() {
    let mut machine = Machine::new(Course::Steady, 3);
    let runs: Vec<Document> = (0..10).map(|_| machine.visit()).collect();
    let mut steady = predicted(&runs);
    let history = |runs: &[Document]| {
        let mut history = History::default();
        runs.iter().for_each(|run| history.add(run));
        history
    };
    let width = |runs: &[Document]| {
        let mut last = runs[9].clone();
        history(&runs[..9]).predict(&mut last);
        last.results[0].next_run.expect("said").deviation
    };
    let before = width(&steady);
    for run in &mut steady[4..9] {
        for result in &mut run.results {
            // The stored prediction is changed as if all figures were expected to be far higher.
            if let Some(next) = &mut result.next_run {
                (next.low, next.high) = (next.high * 10.0, next.high * 20.0);
            }
        }
    }
    let after = width(&steady);
    assert!(after > 1.5 * before && after <= 4.0 * before, "{before} {after}");
    let scores = Scores::of(&steady);
    assert!(scores.all.inside < 0.6 && scores.all.error.is_some_and(|e| e > 0.05), "{scores:?}");
}
