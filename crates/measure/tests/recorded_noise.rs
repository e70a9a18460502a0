//! Tests classification and estimate on noise recorded on a real shared machine.

use std::io::Read;

use measure::estimate::{JudgedRound, Levels, Unit};
use measure::record::Series;
use measure::sentinel::Reading;
use measure::stats::{RoundValue, interval_of, median};

/// Number of recorded calls in a batch.
const BATCH: u64 = 60;
/// Undisturbed time of the call on that machine, in ns.
const TRUTH: f64 = 164.9;

fn recording(name: &str) -> String {
    let path = format!("{}/tests/noise/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// A recording as rounds of 100 samples each. The chain was not recorded, and has the same time throughout, as it would at
/// a steady frequency beside any neighbour.
fn rounds(name: &str) -> Vec<Series> {
    let rows: Vec<Vec<f32>> = recording(name)
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|number| number.parse().unwrap()).collect())
        .collect();
    rows.chunks_exact(100)
        .map(|rows| {
            let mut series = Series { cpu: Some(1), busy: 1, batch: BATCH, ..Series::default() };
            series.readings.push(reading(&rows[0][..3]));
            for row in rows {
                series.samples.push(row[3] / BATCH as f32);
                series.readings.push(reading(&row[4..]));
            }
            series
        })
        .collect()
}

fn reading(parts: &[f32]) -> Reading {
    Reading { chain: 1_000.0, alu: parts[0], chase: parts[1] }
}

fn levels<'a>(all: impl Iterator<Item = &'a Series>) -> Levels {
    let mut levels = Levels::default();
    all.for_each(|series| levels.observe(series));
    levels
}

fn plain_median(all: &[Series]) -> f64 {
    let samples = all.iter().flat_map(|series| &series.samples);
    median(&mut samples.map(|&ns| f64::from(ns)).collect::<Vec<_>>())
}

#[test]
fn a_machine_disturbed_two_thirds_of_the_time_gives_the_quiet_figure() {
    let mixed = rounds("mixed");
    assert!(plain_median(&mixed) > TRUTH * 1.25, "the recording is disturbed");
    let levels = levels(mixed.iter());
    let judged = mixed.iter().map(|s| JudgedRound::of(std::slice::from_ref(s), &levels));
    let medians: Vec<RoundValue> = judged
        .enumerate()
        .filter_map(|(n, j)| j.quiet_value(Unit::Nanoseconds, n as u64))
        .collect();
    assert!(medians.len() >= 20, "{} rounds", medians.len());
    let interval = interval_of(&medians, 1);
    assert!((interval.median / TRUTH - 1.0).abs() < 0.01, "{interval:?}");
    assert!(interval.half_width() < 0.02, "{interval:?}");
}

#[test]
fn the_gate_keeps_the_good_and_lets_few_bad_through() {
    let (quiet, mixed, disturbed) = (rounds("quiet"), rounds("mixed"), rounds("disturbed"));
    let levels = levels(quiet.iter().chain(&mixed).chain(&disturbed));
    let level = levels.level(Some(1), 1).unwrap();
    let (mut good, mut good_kept, mut kept, mut bad_kept) = (0, 0, 0, 0);
    for series in quiet.iter().chain(&mixed).chain(&disturbed) {
        for (at, &sample) in series.samples.iter().enumerate() {
            let is_good = f64::from(sample) < TRUTH * 1.05;
            let is_kept = series.is_quiet(at, &level);
            good += usize::from(is_good);
            good_kept += usize::from(is_good && is_kept);
            kept += usize::from(is_kept);
            bad_kept += usize::from(is_kept && !is_good);
        }
    }
    let (recall, leak) = (good_kept as f64 / good as f64, bad_kept as f64 / kept as f64);
    println!(
        "keeps {:.1} % of the good, {:.1} % of the kept are bad",
        recall * 100.0,
        leak * 100.0
    );
    assert!(recall > 0.9, "keeps only {recall}");
    assert!(leak < 0.03, "lets {leak} through");
}

#[test]
fn quiet_samples_are_classified_by_the_whole_run_not_by_a_disturbed_part() {
    let (quiet, disturbed) = (rounds("quiet"), rounds("disturbed"));
    let alone = levels(disturbed.iter()).level(Some(1), 1).unwrap();
    let together = levels(quiet.iter().chain(&disturbed));
    assert!(alone.alu > together.level(Some(1), 1).unwrap().alu * 1.05);
    let judged = disturbed.iter().map(|s| JudgedRound::of(std::slice::from_ref(s), &together));
    let (quiet_ns, all_ns) =
        judged.fold((0.0, 0.0), |(quiet, all), j| (quiet + j.quiet_ns, all + j.all_ns));
    assert!(quiet_ns / all_ns < 0.05, "{}", quiet_ns / all_ns);
}

/// One round of a recording: its case, its run, and its series.
struct RecordedRound {
    case: String,
    run: String,
    series: Series,
}

/// Reads a recording. Its rows have load, run, case, round, sample, `parts` numbers, which `readings` turns into the
/// sentinel's readings before and after the sample, and whether the thread was preempted.
fn recorded_rounds(
    name: &str,
    parts: usize,
    readings: impl Fn(&[f32]) -> [Reading; 2],
) -> Vec<RecordedRound> {
    let mut rounds: Vec<RecordedRound> = Vec::new();
    let mut key = String::new();
    for line in recording(name).lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let [load, run, case, round, sample, ..] = columns[..] else { panic!("{line}") };
        let numbers: Vec<f32> = columns[5..5 + parts].iter().map(|c| c.parse().unwrap()).collect();
        let [before, after] = readings(&numbers);
        let this = format!("{case},{load},{run},{round}");
        if this != key {
            key = this;
            let readings = vec![before];
            let series =
                Series { cpu: Some(1), busy: 1, batch: 100, readings, ..Series::default() };
            let (case, run) = (case.to_owned(), format!("{load} {run}"));
            rounds.push(RecordedRound { case, run, series });
        }
        let series = &mut rounds.last_mut().unwrap().series;
        if columns[5 + parts] == "1" {
            series.preempted.push(series.samples.len() as u32);
        }
        series.samples.push(sample.parse().unwrap());
        series.readings.push(after);
    }
    rounds
}

/// The recording on a core whose clock wandered. The loads take the place of the chain, which was not recorded, and
/// recorded calls the place of the loads, so that not only the integer chains show a disturbance.
fn frequency_steps() -> Vec<RecordedRound> {
    recorded_rounds("frequency-steps", 6, |parts| {
        let reading =
            |at: usize| Reading { chain: parts[at + 1], alu: parts[at], chase: parts[at + 2] };
        [reading(0), reading(3)]
    })
}

#[test]
fn twelve_runs_on_a_core_whose_clock_wandered_agree() {
    let recorded = frequency_steps();
    for case in ["syscall/getppid", "lock/futex"] {
        let of_case: Vec<&RecordedRound> = recorded.iter().filter(|r| r.case == case).collect();
        let mut runs: Vec<&str> = of_case.iter().map(|r| r.run.as_str()).collect();
        runs.dedup();
        assert_eq!(runs.len(), 12, "{case}: {runs:?}");
        let estimate = |run: &str, unit: Unit| {
            let of_run: Vec<&Series> =
                of_case.iter().filter(|r| r.run == run).map(|r| &r.series).collect();
            let levels = levels(of_run.iter().copied());
            let judged: Vec<JudgedRound> =
                of_run.iter().map(|s| JudgedRound::of(std::slice::from_ref(*s), &levels)).collect();
            let kept: usize = judged.iter().map(|j| j.quiet.len()).sum();
            let all: usize = judged.iter().map(|j| j.all.len()).sum();
            let medians: Vec<RoundValue> =
                judged.iter().filter_map(|j| j.quiet_value(unit, 1)).collect();
            (interval_of(&medians, 1).median, kept as f64 / all as f64)
        };
        let spread = |unit: Unit| {
            let found: Vec<f64> = runs.iter().map(|run| estimate(run, unit).0).collect();
            let high = found.iter().copied().fold(0.0, f64::max);
            high / found.iter().copied().fold(f64::INFINITY, f64::min) - 1.0
        };
        let kept: f64 =
            runs.iter().map(|run| estimate(run, Unit::Nanoseconds).1).sum::<f64>() / 12.0;
        let (wall, counted) = (spread(Unit::Nanoseconds), spread(Unit::Multiplications));
        println!("{case}: {kept:.3} kept; spread {wall:.5} in ns, {counted:.5} by the chain");
        assert!(wall > 0.05, "{case}: the recording's clock wandered, by {wall}");
        // Each run has twelve rounds, adjusted by the loads, which are less steady than a chain of multiplications.
        assert!(counted < 0.003, "{case}: {counted}");
        assert!(kept > 0.8, "{case}: {kept}");
    }
}

/// The recording `chains`: getppid with the chain of multiplications, beside a neighbour that worked at times.
fn chains() -> Vec<RecordedRound> {
    recorded_rounds("chains", 8, |parts| {
        let reading =
            |at: usize| Reading { chain: parts[at], alu: parts[at + 1], chase: parts[at + 2] };
        [reading(0), reading(4)]
    })
}

#[test]
fn a_neighbour_on_the_core_slows_everything_but_the_chain() {
    let recorded = chains();
    let levels = levels(recorded.iter().map(|round| &round.series));
    let quiet_alu = levels.level(Some(1), 1).unwrap().alu;
    let middle = |is_beside_neighbour: bool, part: &dyn Fn(&Series, usize) -> f32| {
        let mut values: Vec<f64> = Vec::new();
        for series in recorded.iter().map(|round| &round.series) {
            for at in 0..series.samples.len() {
                let slower = [at, at + 1].map(|at| series.readings[at].ratios().alu / quiet_alu);
                let (neighbour, alone) =
                    (slower.iter().all(|&by| by > 1.3), slower.iter().all(|&by| by < 1.05));
                if !series.is_preempted(at) && (if is_beside_neighbour { neighbour } else { alone })
                {
                    values.push(part(series, at).into());
                }
            }
        }
        assert!(values.len() > 1_000, "{}", values.len());
        median(&mut values)
    };
    let slowed = |part: &dyn Fn(&Series, usize) -> f32| middle(true, part) / middle(false, part);
    let chain = slowed(&|series, at| series.readings[at].chain);
    let alu = slowed(&|series, at| series.readings[at].alu);
    let chase = slowed(&|series, at| series.readings[at].chase);
    let sample = slowed(&|series, at| series.samples[at]);
    println!(
        "beside a neighbour: chain x {chain:.4}, alu {alu:.2}, loads {chase:.2}, call {sample:.2}"
    );
    assert!((chain - 1.0).abs() < 0.01, "{chain}");
    assert!(alu > 1.5 && sample > 1.3 && chase > 1.1, "{alu} {sample} {chase}");
}

#[test]
fn twenty_short_runs_beside_neighbours_and_other_programs_agree() {
    let recorded = chains();
    let mut runs: Vec<&str> = recorded.iter().map(|round| round.run.as_str()).collect();
    runs.dedup();
    assert_eq!(runs.len(), 20);
    let levels = levels(recorded.iter().map(|round| &round.series));
    let figures = |unit: Unit, only_quiet: bool| -> f64 {
        let of_run = runs.iter().filter_map(|&run| {
            let of_run = recorded.iter().filter(|round| round.run == run);
            let medians: Vec<RoundValue> = of_run
                .filter_map(|round| {
                    let judged = JudgedRound::of(std::slice::from_ref(&round.series), &levels);
                    if only_quiet {
                        judged.quiet_value(unit, 1)
                    } else {
                        judged.plain_value(unit, 1)
                    }
                })
                .collect();
            (!medians.is_empty()).then(|| interval_of(&medians, 1).median)
        });
        let found: Vec<f64> = of_run.collect();
        assert!(found.len() >= 18, "{} runs had quiet rounds", found.len());
        found.iter().copied().fold(0.0, f64::max) / found.iter().copied().fold(f64::MAX, f64::min)
            - 1.0
    };
    let (plain, cycles) = (figures(Unit::Nanoseconds, false), figures(Unit::Multiplications, true));
    println!("twenty runs: {plain:.4} apart plainly, {cycles:.4} by the chain where quiet");
    assert!(plain > 0.2, "{plain}");
    assert!(cycles < 0.01, "{cycles}");
}
