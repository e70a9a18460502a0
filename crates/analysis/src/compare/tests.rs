use measure::Doubt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{Direction, Estimate, FrequencySlope, Interval, Reference};

use super::*;
use crate::frequency::{Frequencies, cpu_differences};
use crate::verdict::Verdict;
use simulated::{
    AsPoint, figure_of, next_run, noise, rounds_of, run_info, unsupported, with_extremes,
};
use systems::in_turn;

mod blocks;
mod simulation;
mod systems;

fn result(case: &str, round_values: Vec<f64>) -> CaseResult {
    with_extremes(rounds_of(case, &round_values))
}

/// A figure of this metric, of which less is better.
fn lower(point: impl AsPoint, metric: &str, unit: &str, rounds: Vec<f64>) -> CaseResult {
    with_extremes(figure_of(point, (metric, unit, Direction::Lower), rounds))
}

fn higher(point: impl AsPoint, metric: &str, unit: &str, rounds: Vec<f64>) -> CaseResult {
    with_extremes(figure_of(point, (metric, unit, Direction::Higher), rounds))
}

/// Servers at four connections.
const SERVERS: (&str, [(&str, &str); 1]) = ("net/answer", [("connections", "4")]);

fn run(results: Vec<CaseResult>) -> Document {
    simulated::areas::install();
    let machine = [("release".to_owned(), "6.1".into())].into_iter().collect();
    known(Document { schema: results::SCHEMA, run: run_info("x"), machine, results }, BETWEEN)
}

/// Deviation of figures between visits on a machine whose runs are known to agree, as a share.
const BETWEEN: f64 = 2e-4;

/// The run on a machine whose deviation between visits is known from many visits to be `between`, as a share.
fn known(mut run: Document, between: f64) -> Document {
    for result in &mut run.results {
        let Some(Estimate { low, high, level, .. }) = result.estimate else { continue };
        let degrees = f64::from(result.rounds.max(2)) - 1.0;
        let t = measure::stats::t_quantile(1.0 - (1.0 - level) / 2.0, degrees);
        let own = if low > 0.0 { (high / low).ln() / 2.0 / t } else { 0.0 };
        let deviation = if low > 0.0 { own.hypot(between) } else { 0.0 };
        result.next_run = Some(next_run([low, high], deviation, 1e3, 1_000));
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

fn compared(base: &Document, new: &Document) -> Vec<Compared> {
    compare(base, new, &Settings::default())
}

fn first(base: &Document, new: &Document) -> Compared {
    compared(base, new).remove(0)
}

fn verdicts(base: Vec<CaseResult>, new: Vec<CaseResult>) -> Vec<Verdict> {
    compared(&run(base), &run(new)).iter().map(|row| row.verdict).collect()
}

fn verdict(base: Vec<f64>, new: Vec<f64>) -> Verdict {
    verdicts(vec![result("a/b", base)], vec![result("a/b", new)])[0]
}

#[test]
fn three_percent_is_found_and_chance_is_not() {
    let base = || rounds(165.0, 0.01, 12, 1);
    assert_eq!(verdict(base(), rounds(165.0 * 1.03, 0.01, 12, 2)), Verdict::Slower);
    assert_eq!(verdict(base(), rounds(165.0 * 0.97, 0.01, 12, 2)), Verdict::Faster);
    assert_eq!(verdict(base(), rounds(165.0, 0.01, 12, 2)), Verdict::Same);
    assert_eq!(verdict(base(), rounds(165.0, 0.5, 12, 2)), Verdict::CannotTell);
    // Few rounds may agree by chance.
    let of_few = |n: usize| verdict(rounds(100.0, 1e-4, n, 1), rounds(110.0, 1e-4, n, 2));
    assert_eq!((of_few(5), of_few(6)), (Verdict::CannotTell, Verdict::Slower));
    let drifted = [rounds(100.0, 1e-3, 6, 1), rounds(110.0, 1e-3, 30, 2)].concat();
    assert_ne!(verdict(drifted, rounds(100.0, 1e-3, 12, 3)), Verdict::Same);
}

#[test]
fn equivalent_metrics_are_compared_once() {
    for case in ["net/answer", "lock/futex"] {
        let of = |metric| lower((case, SERVERS.1), metric, "ns/op", rounds(100.0, 0.01, 6, 1));
        let run = run(["time", "rate", "server-cpu", "reply-p99"].map(of).to_vec());
        let metrics = compared(&run, &run).into_iter().map(|row| row.metric);
        assert_eq!(metrics.collect::<Vec<_>>(), ["time", "server-cpu", "reply-p99"], "{case}");
    }
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
    assert_eq!(first(&with_modes(3.9), &with_modes(4.18)).verdict, Verdict::CannotTell);
}

#[test]
fn a_time_that_the_generator_held_back_is_a_verdict_only_for_the_faster_side() {
    let all = |rate: f64, cpu: f64| {
        vec![
            lower(SERVERS, "time", "ns/op", rounds(1e9 / rate, 1e-3, 12, 1)),
            higher(SERVERS, "rate", "ns/op", rounds(rate, 1e-3, 12, 1)),
            lower(SERVERS, "server-cpu", "ns/op", rounds(cpu, 1e-3, 12, 1)),
        ]
    };
    let (base, mut new) = (all(50e3, 10e3), all(60e3, 8e3));
    let [faster, better] = [Verdict::Faster, Verdict::Better];
    assert_eq!(verdicts(base.clone(), new.clone()), [faster, better]);
    new[0].doubts.push(Doubt::ClientSaturated);
    assert_eq!(verdicts(base.clone(), new.clone()), [faster, better], "at least as fast");
    let [slower, worse] = [Verdict::Slower, Verdict::Worse];
    assert_eq!(verdicts(new.clone(), base.clone()), [slower, worse]);
    let row = first(&run(base.clone()), &run(new.clone()));
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
    let [faster, slower, open] = [Verdict::Faster, Verdict::Slower, Verdict::CannotTell];
    for (time, verdict) in
        [(40.0, faster), (60.0, open), (100.0, open), (190.0, open), (300.0, slower)]
    {
        let (base, mut new) = (run(vec![of_time(100.0)]), of_time(time));
        new.disturbed = true;
        let new = run(vec![new]);
        for (base, new) in [(&base, &new), (&new, &base)] {
            let row = first(base, new);
            assert_eq!(row.verdict.is_difference(), verdict != open, "{time}: {}", row.note);
            assert!(row.note.contains("rounds were quiet"), "{time}: {}", row.note);
        }
        assert_eq!(first(&base, &new).verdict, verdict);
    }
}

#[test]
fn few_quiet_rounds_get_a_verdict_beyond_what_a_disturbance_explains() {
    let few = |time: f64, all: usize| {
        let mut result = result("a/b", rounds(time, 1e-3, 3, 1));
        result.all_round_values = rounds(time * 1.1, 0.2, all, 1);
        run(vec![result])
    };
    let many = run(vec![result("a/b", rounds(100.0, 1e-3, 12, 2))]);
    for (base, new, verdict, why) in [
        (&few(100.0, 8), &few(300.0, 8), Verdict::Slower, "few rounds were quiet"),
        (&many, &few(30.0, 8), Verdict::Faster, "few rounds were quiet"),
        (&few(100.0, 8), &few(190.0, 8), Verdict::CannotTell, "too few rounds were quiet"),
        (&many, &few(100.0, 8), Verdict::CannotTell, "too few rounds were quiet"),
        (&many, &few(190.0, 5), Verdict::CannotTell, "3 rounds are too few"),
        (&many, &few(300.0, 5), Verdict::Slower, "few rounds, but it is more than a factor of 2"),
    ] {
        let row = first(base, new);
        assert_eq!(row.verdict, verdict, "{}", row.note);
        assert!(row.note.starts_with(why), "{}", row.note);
    }
}

#[test]
fn results_without_a_counterpart_have_a_reason() {
    let missing = run(vec![unsupported("a/b", "no such call")]);
    let measured = run(vec![result("a/b", vec![1.0, 2.0])]);
    let row = first(&measured, &missing);
    assert_eq!(row.verdict, Verdict::NotComparable);
    assert_eq!(row.note, "unsupported in the new run: no such call");
    assert_eq!(compared(&missing, &missing), []);
    assert_eq!(first(&run(vec![]), &measured).note, "the base run did not measure it");
}

/// A run on a known CPU at `ghz`, with cycles: an operation of `cycles` takes `cycles / ghz` ns.
fn run_at(ghz: f64, cycles: &[(&str, Vec<f64>)]) -> Document {
    let with_cycles = |(case, cycles): &(&str, Vec<f64>)| {
        let mut result = result(case, cycles.iter().map(|cycles| cycles / ghz).collect());
        let estimate = result.estimate.unwrap();
        let [median, low, high] = [estimate.median, estimate.low, estimate.high].map(|ns| ns * ghz);
        result.cycles = Some(Interval { median, low, high });
        let [alu, chase, chain] = [2000.0, 2560.0, 900.0].map(|cycles| cycles / ghz);
        result.reference = Some(Reference { alu, chase, chain });
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
        let across = Settings { across_machines: true, ..Settings::default() };
        let row = compare(&base, &new, &across).remove(0);
        // In ns, the frequency counts as the machine's own change of speed.
        assert_eq!((row.verdict, row.unit.as_str()), (Verdict::CannotTell, "ns/op"));
        assert!((0.07..0.08).contains(&row.floor), "{row:?}");
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
    let mut saturated = lower(SERVERS, "time", "ns/op", rounds(100.0, 0.5, 6, 1));
    saturated.doubts.push(Doubt::ClientSaturated);
    let none = lower("a/zero", "errors", "ns/op", vec![0.0; 6]);
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
    let point = |value: f64| {
        let rounds = || rounds(value, 1e-3, 8, 1);
        vec![
            lower("file/small", "time", "ns", rounds()),
            higher("file/small", "create-rate", "files/s", rounds()),
            lower("file/small", "create-p99", "ns", rounds()),
        ]
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
    let all = |value: f64| {
        let rounds = |value: f64| rounds(value, 1e-3, 8, 1);
        vec![
            lower("mail/send", "time", "ns/op", rounds(value)),
            higher("mail/send", "transactions", "ns/op", rounds(1e9 / value)),
            lower("mail/send", "data-p99", "ns/op", rounds(value)),
            lower("mail/send", "sender-cpu", "ns/op", rounds(value)),
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
    let errors = |values: Vec<f64>| run(vec![lower(SERVERS, "errors", "share", values)]);
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
        let mut fact = lower("clock/std-instant", "step", "ns", vec![step]);
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
    let of = |step| run(vec![lower("clock/std-instant", "granularity", "ns", vec![step; 8])]);
    assert_eq!(first(&of(29.0), &of(30.0)).verdict, Verdict::CannotTell);
    assert_eq!(first(&of(29.0), &of(58.0)).verdict, Verdict::Worse);
}

#[test]
fn derived_metrics_are_not_compared() {
    let rounds = || rounds(0.1, 0.01, 8, 1);
    let law = lower("concurrency/degree", "amdahl-serial", "ns/op", rounds());
    let from = lower("net/answer", "faster-from", "ns/op", rounds());
    let mut neither = result("mail/send", rounds());
    neither.better = Direction::Neither;
    let run = run(vec![law, from, neither]);
    assert_eq!(compared(&run, &run), []);
}
