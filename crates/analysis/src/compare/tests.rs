use std::collections::BTreeMap;

use measure::Doubt;
use measure::stats::median;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{Direction, Estimate, FrequencySlope, Interval, NextRun, Reference, Source};

use super::*;
use crate::frequency::{Frequencies, cpu_differences};
use crate::verdict::Verdict;
use simulated::noise;
use systems::in_turn;

mod blocks;
mod simulation;
mod systems;

fn result(case: &str, round_values: Vec<f64>) -> CaseResult {
    let mut sorted = round_values.clone();
    let median = median(&mut sorted);
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    CaseResult {
        estimate: Some(Estimate { median, low, high, level: 0.95 }),
        rounds: round_values.len() as u32,
        round_values,
        ..CaseResult::blank(case, BTreeMap::new(), "time", "ns/op", Direction::Lower)
    }
}

fn run(results: Vec<CaseResult>) -> Document {
    simulated::areas::install();
    let mut document = results::parse_document(
        r#"{"schema":1,"run":{"id":"x","started":"2026-11-21T00:00:00Z","seed":1,"oscost":"0","area_seconds":{}},
            "machine":{"release":"6.1"},"results":[]}"#,
    )
    .unwrap();
    document.results = results;
    known(document, BETWEEN)
}

/// Deviation of figures between visits on a machine whose runs are known to agree, as a share.
const BETWEEN: f64 = 2e-4;

/// The run on a machine whose deviation between visits is known from many visits to be `between`, as a share.
fn known(mut run: Document, between: f64) -> Document {
    for result in &mut run.results {
        let Some(Estimate { low, high, level, .. }) = result.estimate else { continue };
        let degrees = f64::from(result.rounds.max(2)) - 1.0;
        let t = measure::stats::t_quantile(1.0 - (1.0 - level) / 2.0, degrees);
        result.next_run = Some(NextRun {
            low,
            high,
            level,
            deviation: match low > 0.0 {
                true => ((high / low).ln() / 2.0 / t).hypot(between),
                false => 0.0,
            },
            degrees: 1e3,
            visits: 1_000,
            boots: 1,
            days: 1,
            source: Source::Visits,
        });
    }
    run
}

/// Rounds about `center` with a relative spread of `spread`; the same `salt` gives the same rounds.
fn rounds(center: f64, spread: f64, n: usize, salt: usize) -> Vec<f64> {
    (0..n)
        .map(|i| {
            let noise = ((i * 7919 + salt * 104_729) % 1009) as f64 / 1009.0 - 0.5;
            center * (1.0 + spread * noise)
        })
        .collect()
}

fn verdict(base: Vec<f64>, new: Vec<f64>) -> Verdict {
    let (base, new) = (run(vec![result("a/b", base)]), run(vec![result("a/b", new)]));
    compare(&base, &new, &Settings::default())[0].verdict
}

#[test]
fn three_percent_is_found_and_chance_is_not() {
    let base = rounds(165.0, 0.01, 12, 1);
    assert_eq!(verdict(base.clone(), rounds(165.0 * 1.03, 0.01, 12, 2)), Verdict::Slower);
    assert_eq!(verdict(base.clone(), rounds(165.0 * 0.97, 0.01, 12, 2)), Verdict::Faster);
    assert_eq!(verdict(base.clone(), rounds(165.0, 0.01, 12, 2)), Verdict::Same);
    assert_eq!(verdict(base, rounds(165.0, 0.5, 12, 2)), Verdict::CannotTell);
}

#[test]
fn equivalent_metrics_are_compared_once() {
    let metrics = |case: &str| {
        let all = ["time", "rate", "server-cpu", "reply-p99"].map(|metric| CaseResult {
            metric: metric.to_owned(),
            params: BTreeMap::from([("connections".to_owned(), "4".to_owned())]),
            ..result(case, rounds(100.0, 0.01, 6, 1))
        });
        let run = run(all.to_vec());
        let rows = compare(&run, &run, &Settings::default());
        rows.into_iter().map(|row| row.metric).collect::<Vec<_>>()
    };
    assert_eq!(metrics("net/answer"), ["time", "server-cpu", "reply-p99"]);
    assert_eq!(metrics("lock/futex"), ["time", "server-cpu", "reply-p99"]);
}

#[test]
fn what_differs_between_visits_is_part_of_the_interval() {
    let with = |between: f64| {
        let [base, new] = [(100.0, 1), (104.0, 2)].map(|(time, salt)| {
            known(run(vec![result("a/b", rounds(time, 1e-3, 12, salt))]), between)
        });
        first(&base, &new)
    };
    assert_eq!(with(1e-3).verdict, Verdict::Slower);
    let row = with(0.02);
    assert_eq!(row.verdict, Verdict::CannotTell);
    assert!(row.note.contains("differ by 2.9 %") && row.note.contains("visits"), "{}", row.note);
    // The half-width of the interval of a difference of two figures is 1.96 standard deviations, since these are known.
    let half = 1.96 * 0.02 * 2f64.sqrt();
    let ratio = row.ratio.unwrap();
    assert!(((ratio.high / ratio.mid).ln() - half).abs() < 0.001, "{ratio:?}");
}

/// Checks that a run before the machine was known is compared in the same way as one after.
#[test]
fn the_run_that_knows_more_of_the_machine_counts_for_both() {
    let of = |time: f64, between: f64, visits: u32| {
        let mut run = known(run(vec![result("a/b", rounds(time, 1e-3, 12, 1))]), between);
        let next = run.results[0].next_run.as_mut().unwrap();
        (next.visits, next.degrees) = (visits, f64::from(visits) + 3.0);
        run
    };
    let (early, late) = (of(100.0, 0.1, 1), of(104.0, 0.002, 30));
    assert_eq!(first(&early, &late).verdict, Verdict::Slower);
    assert_eq!(first(&late, &early).verdict, Verdict::Faster);
    let mut elsewhere = late.clone();
    elsewhere.machine.insert("microcode".into(), "0x2".into());
    assert_eq!(first(&early, &elsewhere).verdict, Verdict::CannotTell);
}

/// Checks a document from elsewhere, which describes only the processor of its machine.
#[test]
fn runs_that_say_nothing_of_the_next_are_as_uncertain_as_the_widest_machine() {
    let of = |time: f64| {
        let mut run = run(vec![result("a/b", rounds(time, 1e-3, 12, 1))]);
        run.results[0].next_run = None;
        run
    };
    assert_eq!(first(&of(100.0), &of(110.0)).verdict, Verdict::CannotTell);
    assert_eq!(first(&of(100.0), &of(200.0)).verdict, Verdict::Slower);
}

fn compared(base: &Document, new: &Document) -> Vec<Compared> {
    compare(base, new, &Settings::default())
}

fn first(base: &Document, new: &Document) -> Compared {
    compared(base, new).remove(0)
}

#[test]
fn a_machine_that_ran_at_another_speed_is_no_verdict() {
    let with_speed = |time: f64, alu: f64| {
        let mut result = result("a/b", rounds(time, 1e-3, 12, 1));
        result.reference = Some(Reference { alu, chase: 700.0, chain: 240.0 });
        run(vec![result])
    };
    let base = with_speed(85.5, 665.0);
    let row = first(&base, &with_speed(75.5, 583.0));
    assert_eq!(row.verdict, Verdict::CannotTell);
    assert!(row.note.contains("varies by 14.1 %"), "{}", row.note);
    // A comparison must detect a kernel whose calls are slower by this share.
    let row = first(&base, &with_speed(89.0, 665.0));
    assert_eq!((row.verdict, row.floor), (Verdict::Slower, 0.0));
}

#[test]
fn another_steady_mode_of_the_same_operation_is_no_verdict() {
    let with_modes = |time: f64| {
        let mut result = result("a/b", rounds(time, 1e-3, 12, 1));
        result.quiet_quartiles = Some([3.9, 5.0]);
        run(vec![result])
    };
    let (base, new) = (with_modes(3.9), with_modes(4.18));
    let row = &compare(&base, &new, &Settings::default())[0];
    assert_eq!(row.verdict, Verdict::CannotTell);
}

#[test]
fn a_time_that_the_generator_held_back_is_a_verdict_only_for_the_faster_side() {
    let of = |metric: &str, value: f64| CaseResult {
        metric: metric.to_owned(),
        better: if metric == "rate" { Direction::Higher } else { Direction::Lower },
        params: BTreeMap::from([("connections".to_owned(), "4".to_owned())]),
        ..result("net/answer", rounds(value, 1e-3, 12, 1))
    };
    let all =
        |rate: f64, cpu: f64| vec![of("time", 1e9 / rate), of("rate", rate), of("server-cpu", cpu)];
    let verdicts = |base: Vec<CaseResult>, new: Vec<CaseResult>| {
        let compared = compare(&run(base), &run(new), &Settings::default());
        compared.into_iter().map(|row| row.verdict).collect::<Vec<_>>()
    };
    let (base, mut new) = (all(50e3, 10e3), all(60e3, 8e3));
    let [faster, better] = [Verdict::Faster, Verdict::Better];
    assert_eq!(verdicts(base.clone(), new.clone()), [faster, better]);
    new[0].doubts.push(Doubt::ClientSaturated);
    assert_eq!(verdicts(base.clone(), new.clone()), [faster, better], "at least as fast");
    let [slower, worse] = [Verdict::Slower, Verdict::Worse];
    assert_eq!(verdicts(new.clone(), base.clone()), [slower, worse]);
    let row = &compare(&run(base.clone()), &run(new.clone()), &Settings::default())[0];
    assert!(row.note.starts_with("at least"), "{row:?}");
    // The limited side is the slower one: the server itself may be faster.
    let mut limited = base.clone();
    limited[0].doubts.push(Doubt::ClientSaturated);
    assert_eq!(verdicts(limited.clone(), all(60e3, 8e3)), [Verdict::CannotTell, better]);
    assert_eq!(verdicts(limited, new), [Verdict::CannotTell, better], "both are limited");
}

#[test]
fn points_disturbed_throughout_get_a_verdict_beyond_what_a_disturbance_explains() {
    let of_time = |time: f64| result("a/b", rounds(time, 1e-3, 12, 1));
    let settings = Settings::default();
    let expected = [
        (40.0, Verdict::Faster),
        (60.0, Verdict::CannotTell),
        (100.0, Verdict::CannotTell),
        (190.0, Verdict::CannotTell),
        (300.0, Verdict::Slower),
    ];
    for (time, verdict) in expected {
        let (base, mut new) = (run(vec![of_time(100.0)]), of_time(time));
        new.disturbed = true;
        let new = run(vec![new]);
        for (base, new) in [(&base, &new), (&new, &base)] {
            let row = &compare(base, new, &settings)[0];
            let is_difference = verdict != Verdict::CannotTell;
            assert_eq!(row.verdict.is_difference(), is_difference, "{time}: {}", row.note);
            assert!(row.note.contains("rounds were quiet"), "{time}: {}", row.note);
        }
        let row = compare(&base, &new, &settings).remove(0);
        assert_eq!(row.verdict, verdict);
    }
}

#[test]
fn few_quiet_rounds_get_a_verdict_beyond_what_a_disturbance_explains() {
    let few = |time: f64, all: usize| {
        let mut result = result("a/b", rounds(time, 1e-3, 3, 1));
        result.all_round_values = rounds(time * 1.1, 0.2, all, 1);
        run(vec![result])
    };
    let of = |base: &Document, new: &Document| compare(base, new, &Settings::default()).remove(0);
    let many = run(vec![result("a/b", rounds(100.0, 1e-3, 12, 2))]);
    for (base, new, verdict, why) in [
        (&few(100.0, 8), &few(300.0, 8), Verdict::Slower, "few rounds were quiet"),
        (&many, &few(30.0, 8), Verdict::Faster, "few rounds were quiet"),
        (&few(100.0, 8), &few(190.0, 8), Verdict::CannotTell, "too few rounds were quiet"),
        (&many, &few(100.0, 8), Verdict::CannotTell, "too few rounds were quiet"),
        (&many, &few(190.0, 5), Verdict::CannotTell, "3 rounds are too few"),
        (&many, &few(300.0, 5), Verdict::Slower, "few rounds, but it is more than a factor of 2"),
    ] {
        let row = of(base, new);
        assert_eq!(row.verdict, verdict, "{}", row.note);
        assert!(row.note.starts_with(why), "{}", row.note);
    }
}

#[test]
fn a_run_that_drifted_is_no_verdict() {
    let mut drifted = rounds(100.0, 1e-3, 6, 1);
    drifted.extend(rounds(110.0, 1e-3, 30, 2));
    let row_verdict = verdict(drifted, rounds(100.0, 1e-3, 12, 3));
    assert_ne!(row_verdict, Verdict::Same);
}

#[test]
fn results_without_a_counterpart_have_a_reason() {
    let mut unsupported = result("a/b", vec![1.0, 2.0]);
    unsupported.outcome = Outcome::Unsupported;
    unsupported.estimate = None;
    unsupported.reason = Some("no such call".into());
    let missing = run(vec![unsupported]);
    let measured = run(vec![result("a/b", vec![1.0, 2.0])]);
    let settings = Settings::default();
    let row = &compare(&measured, &missing, &settings)[0];
    assert_eq!(row.verdict, Verdict::NotComparable);
    assert_eq!(row.note, "unsupported in the new run: no such call");
    assert_eq!(compare(&missing, &missing, &settings), []);
    let row = &compare(&run(vec![]), &measured, &settings)[0];
    assert_eq!(row.note, "the base run did not measure it");
}

#[test]
fn facts_in_which_runs_differ_are_listed() {
    let (base, mut new) = (run(vec![]), run(vec![]));
    new.machine.insert("release".into(), "6.2".into());
    new.machine.insert("load".into(), "9".into());
    let found = also_differs(&[&base, &new], &["release", "cpu"]);
    assert_eq!(
        found,
        [Difference { key: "release".into(), values: vec!["6.1".into(), "6.2".into()] }]
    );
}

/// A run on a known CPU at `ghz`, with cycles: an operation of `cycles` takes `cycles / ghz` ns.
fn run_at(ghz: f64, cycles: &[(&str, Vec<f64>)]) -> Document {
    let with_cycles = |(case, cycles): &(&str, Vec<f64>)| {
        let mut result = result(case, cycles.iter().map(|cycles| cycles / ghz).collect());
        let estimate = result.estimate.unwrap();
        let [median, low, high] = [estimate.median, estimate.low, estimate.high].map(|ns| ns * ghz);
        result.cycles = Some(Interval { median, low, high });
        result.reference =
            Some(Reference { alu: 2000.0 / ghz, chase: 2560.0 / ghz, chain: 900.0 / ghz });
        result
    };
    let mut run = run(cycles.iter().map(with_cycles).collect());
    run.run.core_clock_ghz = Some(Interval { low: ghz - 0.1, median: ghz, high: ghz + 0.1 });
    for fact in ["vendor", "family", "model", "stepping", "flags", "caches"] {
        run.machine.insert(format!("cpu_{fact}"), "1".into());
    }
    run
}

#[test]
fn the_same_cycles_at_another_frequency_are_the_same() {
    let base = run_at(3.75, &[("a/b", rounds(280.0, 1e-3, 8, 1))]);
    let new = run_at(3.49, &[("a/b", rounds(280.0, 1e-3, 8, 2))]);
    let row = first(&base, &new);
    assert_eq!((row.verdict, row.unit.as_str()), (Verdict::Same, "cycles/op"));
    assert_eq!(row.floor, 0.0);
    assert!((row.base.unwrap().median - 280.0).abs() < 1.0, "{row:?}");
    let log_ratio = Frequencies::of(&base, &new).log_ratio().unwrap();
    assert!((log_ratio - (3.49f64 / 3.75).ln()).abs() < 1e-12);
    let slower = run_at(3.49, &[("a/b", rounds(282.8, 1e-3, 8, 2))]);
    assert_eq!(first(&base, &slower).verdict, Verdict::Slower);
}

#[test]
fn cycles_of_different_or_unknown_cpus_are_not_compared() {
    let base = run_at(3.75, &[("a/b", rounds(280.0, 1e-3, 8, 1))]);
    for (fact, value) in [("cpu_stepping", "2"), ("cpu_flags", "unknown"), ("core_types", "P")] {
        let mut new = run_at(3.49, &[("a/b", rounds(280.0, 1e-3, 8, 2))]);
        new.machine.insert(fact.to_owned(), value.into());
        assert_eq!(cpu_differences(&base, &new), [fact]);
        let row = first(&base, &new);
        // In ns, the frequency counts as the machine's own change of speed.
        assert_eq!((row.verdict, row.unit.as_str()), (Verdict::CannotTell, "ns/op"));
        assert!(row.note.contains("varies by 7.4 %"), "{}", row.note);
    }
    let mut neither = run_at(3.75, &[]);
    neither.machine.remove("cpu_caches");
    assert_eq!(cpu_differences(&neither, &neither), ["cpu_caches"]);
}

#[test]
fn a_frequency_is_no_floor_of_what_does_not_follow_it() {
    let with_slope = |ghz: f64, time: f64, high: f64| {
        let mut run = run_at(ghz, &[("a/b", rounds(time * ghz, 1e-3, 8, 1))]);
        run.results[0].cycles = None;
        let slope = FrequencySlope { slope: high - 0.1, low: high - 0.2, high, adjusted: false };
        run.results[0].frequency_slope = Some(slope);
        run
    };
    let verdict =
        |high: f64| first(&with_slope(3.75, 100.0, high), &with_slope(3.49, 103.0, high)).verdict;
    assert_eq!(verdict(0.1), Verdict::Slower);
    assert_eq!(verdict(1.0), Verdict::CannotTell);
}

#[test]
fn a_sentinel_that_was_slowed_more_than_the_chain_is_a_floor_of_cycles() {
    let base = run_at(3.75, &[("a/b", rounds(280.0, 1e-4, 8, 1))]);
    let mut new = run_at(3.49, &[("a/b", rounds(283.0, 1e-4, 8, 2))]);
    assert_eq!(first(&base, &new).verdict, Verdict::Slower);
    new.results[0].reference.as_mut().unwrap().chase *= 1.03;
    let row = first(&base, &new);
    assert_eq!(row.verdict, Verdict::CannotTell);
    assert!((row.floor - 0.03).abs() < 1e-6, "{}", row.floor);
}

#[test]
fn samples_far_apart_do_not_hide_what_all_of_them_share() {
    let of = |cycles: f64, quartiles: [f64; 2]| {
        let mut run = run_at(3.5, &[("a/b", rounds(cycles, 1e-4, 8, 1))]);
        run.results[0].quiet_quartiles = Some(quartiles.map(|cycles| cycles / 3.5));
        run
    };
    let base = of(280.0, [270.0, 290.0]);
    assert_eq!(first(&base, &of(282.8, [272.7, 292.9])).verdict, Verdict::Slower);
    // Both runs have the same two modes, of which one is a little more frequent.
    for quartiles in [[270.0, 290.0], [282.0, 290.0], [270.0, 300.0]] {
        let row = first(&base, &of(290.0, quartiles));
        assert_eq!(row.verdict, Verdict::CannotTell, "{quartiles:?}");
    }
}

#[test]
fn a_run_is_the_same_as_itself() {
    let mut disturbed = result("a/disturbed", rounds(100.0, 0.5, 6, 1));
    disturbed.disturbed = true;
    let mut saturated = result("net/answer", rounds(100.0, 0.5, 6, 1));
    saturated.params.insert("connections".to_owned(), "4".to_owned());
    saturated.doubts.push(Doubt::ClientSaturated);
    let mut none = result("a/zero", vec![0.0; 6]);
    none.metric = "errors".to_owned();
    let mut failed = result("a/failed", vec![1.0]);
    failed.round_values.clear();
    (failed.outcome, failed.estimate) = (Outcome::Failed, None);
    failed.reason = Some("it broke".to_owned());
    let few = result("a/few", vec![100.0, 300.0]);
    let one = result("a/one", vec![100.0]);
    let run = run(vec![disturbed, saturated, none, failed, few, one]);
    let rows = compared(&run, &run);
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let [same, no_pair] = [Verdict::Same, Verdict::NotComparable];
    assert_eq!(verdicts, [same, same, same, no_pair, same, same]);
    // Another run with the same figures has the same error.
    let mut other = run.clone();
    other.run.id = "y".to_owned();
    assert_eq!(compared(&run, &other)[4].verdict, Verdict::CannotTell);
}

#[test]
fn same_is_not_said_where_visits_differ_by_more_than_the_margin() {
    let same = |between: f64| {
        first(&known(run_of(100.0), between), &known(run_of(100.001), between)).verdict
    };
    assert_eq!(same(0.02), Verdict::CannotTell);
    assert_eq!(same(0.002), Verdict::Same);
}

fn run_of(time: f64) -> Document {
    let mut run = run(vec![result("a/b", rounds(time, 1e-4, 8, 1))]);
    run.run.id = time.to_string();
    run
}

#[test]
fn a_disturbance_applies_to_all_metrics_of_a_point() {
    let of = |metric: &str, value: f64| CaseResult {
        metric: metric.to_owned(),
        better: if metric.ends_with("rate") { Direction::Higher } else { Direction::Lower },
        unit: if metric.ends_with("rate") { "files/s" } else { "ns" }.to_owned(),
        ..result("file/small", rounds(value, 1e-3, 8, 1))
    };
    let point =
        |value: f64| ["time", "create-rate", "create-p99"].map(|metric| of(metric, value)).to_vec();
    let verdicts = |base: Vec<CaseResult>, new: Vec<CaseResult>| -> Vec<Verdict> {
        compared(&run(base), &run(new)).iter().map(|row| row.verdict).collect()
    };
    let expected = [Verdict::Slower, Verdict::Better, Verdict::Worse];
    assert_eq!(verdicts(point(100.0), point(110.0)), expected);
    let mut disturbed = point(110.0);
    disturbed[0].disturbed = true;
    assert_eq!(verdicts(point(100.0), disturbed), [Verdict::CannotTell; 3]);
    // The sentinel's readings for the time apply to all three metrics.
    let with_alu = |value: f64, alu: f64| {
        let mut point = point(value);
        point[0].reference = Some(Reference { alu, chase: 700.0, chain: 240.0 });
        point
    };
    let [base, new] = [with_alu(100.0, 600.0), with_alu(110.0, 690.0)];
    assert_eq!(verdicts(base, new), [Verdict::CannotTell; 3]);
}

#[test]
fn a_receiver_that_held_mail_back_is_no_verdict_on_the_sender() {
    let of = |metric: &str, value: f64, better: Direction| CaseResult {
        metric: metric.to_owned(),
        better,
        ..result("mail/send", rounds(value, 1e-3, 8, 1))
    };
    let all = |value: f64| {
        vec![
            of("time", value, Direction::Lower),
            of("transactions", 1e9 / value, Direction::Higher),
            of("data-p99", value, Direction::Lower),
            of("sender-cpu", value, Direction::Lower),
        ]
    };
    let mut new = all(110.0);
    new[0].doubts.push(Doubt::ReceiverSaturated);
    let rows = compared(&run(all(100.0)), &run(new));
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let cannot = Verdict::CannotTell;
    assert_eq!(verdicts, [cannot, cannot, cannot, Verdict::Worse]);
    assert_eq!(rows[0].note, "the receiver was the bottleneck: compare `sender-cpu` instead");
}

#[test]
fn figures_that_may_be_zero_are_compared_by_their_difference() {
    let errors = |values: Vec<f64>| {
        let mut result = result("net/answer", values);
        result.params.insert("connections".to_owned(), "4".to_owned());
        (result.metric, result.unit) = ("errors".to_owned(), "share".to_owned());
        run(vec![result])
    };
    let none = || errors(vec![0.0; 8]);
    let some = errors(rounds(0.1, 0.01, 8, 1));
    let mut other = none();
    other.run.id = "y".to_owned();
    assert_eq!(first(&none(), &other).verdict, Verdict::Same);
    let row = first(&none(), &some);
    assert_eq!((row.verdict, row.ratio), (Verdict::Worse, None));
    assert_eq!(first(&some, &none()).verdict, Verdict::Better);
    let one_in_eight = errors(vec![0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(first(&none(), &one_in_eight).verdict, Verdict::CannotTell);
}

#[test]
fn equal_facts_are_the_same_on_a_disturbed_machine_too() {
    let of = |id: &str, step: f64| {
        let mut time = result("clock/std-instant", rounds(28.0, 1e-3, 8, 1));
        time.disturbed = true;
        let mut fact = result("clock/std-instant", vec![step]);
        (fact.metric, fact.unit) = ("step".to_owned(), "ns".to_owned());
        fact.round_values.clear();
        let mut run = run(vec![time, fact]);
        run.run.id = id.to_owned();
        run
    };
    let verdict = |step: f64| compared(&of("x", 29.0), &of("y", step))[1].verdict;
    assert_eq!((verdict(29.0), verdict(30.0)), (Verdict::Same, Verdict::CannotTell));
}

#[test]
fn a_step_of_rounding_is_no_difference() {
    let of = |values: Vec<f64>| {
        let mut result = result("clock/std-instant", values);
        (result.metric, result.unit) = ("granularity".to_owned(), "ns".to_owned());
        run(vec![result])
    };
    assert_eq!(first(&of(vec![29.0; 8]), &of(vec![30.0; 8])).verdict, Verdict::CannotTell);
    assert_eq!(first(&of(vec![29.0; 8]), &of(vec![58.0; 8])).verdict, Verdict::Worse);
}

#[test]
fn few_rounds_that_agree_by_chance_are_no_difference() {
    let verdict = |n: usize| verdict(rounds(100.0, 1e-4, n, 1), rounds(110.0, 1e-4, n, 2));
    assert_eq!(verdict(5), Verdict::CannotTell);
    assert_eq!(verdict(6), Verdict::Slower);
}

#[test]
fn derived_metrics_are_not_compared() {
    let mut law = result("concurrency/degree", rounds(0.1, 0.01, 8, 1));
    law.metric = "amdahl-serial".to_owned();
    let mut from = result("net/answer", rounds(0.1, 0.01, 8, 1));
    from.metric = "faster-from".to_owned();
    let mut neither = result("mail/send", rounds(0.1, 0.01, 8, 1));
    neither.better = Direction::Neither;
    let run = run(vec![law, from, neither]);
    assert_eq!(compared(&run, &run), []);
}
