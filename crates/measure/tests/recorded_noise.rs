//! The gate and the estimate, on noise that was recorded on a real shared machine.

use std::io::Read;

use measure::estimate::{JudgedRound, Levels};
use measure::record::Series;
use measure::stats::{RoundMedian, interval_of, median};

/// The recorded calls in a batch.
const BATCH: u64 = 60;
/// What the call costs on that machine when nobody disturbs it.
const TRUTH: f64 = 164.9;

/// A recording as rounds of 100 samples each.
fn rounds(name: &str) -> Vec<Series> {
    let path = format!("{}/tests/noise/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let rows: Vec<Vec<f32>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|number| number.parse().unwrap()).collect())
        .collect();
    rows.chunks_exact(100)
        .map(|rows| {
            let mut series = Series { cpu: Some(1), busy: 1, batch: BATCH, ..Series::default() };
            series.readings.push([rows[0][0], rows[0][1], rows[0][2]]);
            for row in rows {
                series.samples.push(row[3] / BATCH as f32);
                series.readings.push([row[4], row[5], row[6]]);
            }
            series
        })
        .collect()
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
    let medians: Vec<RoundMedian> =
        judged.enumerate().filter_map(|(n, j)| j.quiet_median(n as u64)).collect();
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
fn what_was_quiet_is_judged_by_the_whole_run_not_by_a_disturbed_stretch() {
    let (quiet, disturbed) = (rounds("quiet"), rounds("disturbed"));
    let alone = levels(disturbed.iter()).level(Some(1), 1).unwrap();
    let together = levels(quiet.iter().chain(&disturbed));
    assert!(alone.alu > together.level(Some(1), 1).unwrap().alu * 1.05);
    let judged = disturbed.iter().map(|s| JudgedRound::of(std::slice::from_ref(s), &together));
    let (quiet_ns, all_ns) =
        judged.fold((0.0, 0.0), |(quiet, all), j| (quiet + j.quiet_ns, all + j.all_ns));
    assert!(quiet_ns / all_ns < 0.05, "{}", quiet_ns / all_ns);
}
