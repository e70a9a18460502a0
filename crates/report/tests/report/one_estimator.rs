//! Two ways to compute one figure give one figure: a ratio beside two figures is theirs, wherever it is shown, also on a machine on
//! which load slows one side more and few rounds are quiet.

use analysis::answer::answers;
use analysis::claim::{ClaimFile, judge};
use analysis::{
    ComparedTable, Dimension, Question, Settings, compare_columns, ladders, overview, tabulate,
};
use measure::stats::median;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{CaseResult, Document, Estimate};
use simulated::{document, noise, rounds_of};

const ROUNDS: usize = 24;
const ALONE: [(&str, &str); 3] = [("as", "threads"), ("work", "none"), ("workers", "1")];

/// Locks with their times in ns on a quiet machine, and the factor by which load slows each.
const LOCKS: [(&str, f64, f64); 3] =
    [("lock/futex", 4.46, 1.04), ("lock/pthread-mutex", 5.43, 1.7), ("lock/sysv-sem", 997.0, 1.05)];

/// A figure of the rounds that were quiet, the shares of which differ from run to run; the rounds of all figures alternate.
fn beside_load((case, ns, slower): (&str, f64, f64), later: i64, rng: &mut StdRng) -> CaseResult {
    let is_quiet: Vec<bool> = (0..ROUNDS).map(|_| rng.random::<f64>() < 0.3).collect();
    let value = |quiet: &bool| {
        let load = if *quiet { 1.0 } else { slower * (1.0 + 0.3 * rng.random::<f64>()) };
        ns * load * (0.01 * noise(rng)).exp()
    };
    let all: Vec<f64> = is_quiet.iter().map(value).collect();
    let starts: Vec<i64> = (0..ROUNDS as i64).map(|round| 1_000 * round + later).collect();
    let of_quiet = |at: &usize| is_quiet[*at];
    let quiet: Vec<f64> = (0..ROUNDS).filter(of_quiet).map(|at| all[at]).collect();
    let median = median(&mut quiet.clone());
    let (low, high) = (median * 0.98, median * 1.02);
    CaseResult {
        estimate: Some(Estimate { median, low, high, level: 0.95 }),
        round_starts_ms: (0..ROUNDS).filter(of_quiet).map(|at| starts[at]).collect(),
        all_round_values: all,
        all_round_starts_ms: starts,
        ..rounds_of((case, ALONE), &quiet)
    }
}

/// A run of the locks, in turn with runs of other systems.
fn run(system: &str, later: i64, rng: &mut StdRng) -> Document {
    crate::install();
    let locks = LOCKS.iter().zip((0..).step_by(100));
    let results = locks.map(|(lock, of_lock)| beside_load(*lock, later + of_lock, rng));
    document(system, results.collect())
}

fn is_equal(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

/// The number of rows whose ratio is that of their figures, within its interval; fails for any other row.
fn consistent_rows(compared: &ComparedTable) -> usize {
    let rows: Vec<_> = compared.rows.iter().flatten().flatten().collect();
    for row in &rows {
        let ratio = row.ratio.unwrap();
        let figures = row.new.unwrap().median / row.base.unwrap().median;
        assert!(is_equal(ratio.mid, figures), "{ratio:?} beside {figures}: {row:?}");
        assert!(ratio.low <= ratio.mid && ratio.mid <= ratio.high, "{row:?}");
    }
    rows.len()
}

#[test]
fn ratios_within_a_run_are_those_of_the_figures() {
    let claim = "[[claim]]\nname = 'slower'\nsentence = 'It is slower.'\na.case = 'lock/pthread-mutex'\nb.case = 'lock/futex'\nrelation = '> 1'\n";
    let claims = ClaimFile::parse(claim).unwrap().claims;
    for seed in 0..40 {
        let run = [run("native", 0, &mut StdRng::seed_from_u64(seed))];
        let table = tabulate(&run, &Dimension::Case, &Question::default()).unwrap();
        let compared = compare_columns(table, &Settings::default());
        assert_eq!(consistent_rows(&compared), LOCKS.len() - 1);
        // A mean over one point is the ratio of that point.
        let found = overview(&compared, &Question::default().at, &Settings::default());
        for (column, row) in found.areas[0].columns.iter().zip(&compared.rows[0]) {
            let (mean, row) = (column.mean.unwrap().ratio, row.as_ref().unwrap().ratio.unwrap());
            assert!(is_equal(mean.mid, row.mid), "{seed}: {mean:?} {row:?}");
            assert!(mean.low <= mean.mid && mean.mid <= mean.high, "{seed}: {mean:?}");
        }
        let answers = answers(&run[0].results, catalog::areas());
        let free = answers.iter().find(|answer| answer.of == "lock, free").unwrap();
        for design in &free.designs[1..] {
            let ratio = design.behind.unwrap();
            let figures = design.figure.median / free.designs[0].figure.median;
            assert!(is_equal(ratio.mid, figures), "{seed}: {ratio:?} beside {figures}");
        }
        let judged = &judge(&claims, &run)[0].comparisons[0];
        let figures =
            run[0].results[1].estimate.unwrap().median / run[0].results[0].estimate.unwrap().median;
        if let Some(interval) = judged.interval {
            assert!(is_equal(interval.mid, figures), "{seed}: {interval:?} beside {figures}");
            assert!(interval.low <= interval.mid && interval.mid <= interval.high);
        }
    }
}

#[test]
fn ratios_of_systems_in_turn_are_those_of_the_figures() {
    for seed in 0..40 {
        let mut rng = StdRng::seed_from_u64(seed);
        let runs = [run("native", 0, &mut rng), run("gvisor", 40, &mut rng)];
        let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
        for ladder in ladders(&table, &Settings::default()) {
            let [before, after] = &ladder.steps[..] else { panic!("two systems") };
            let added = after.adds.unwrap();
            assert!(is_equal(before.ns + added.ns, after.ns), "{seed}: {ladder:?}");
        }
        let compared = compare_columns(table, &Settings::default());
        assert_eq!(consistent_rows(&compared), LOCKS.len());
    }
}

/// A figure of one or two rounds has no interval, and so has each ratio to it.
#[test]
fn a_ratio_to_a_figure_without_an_interval_is_not_shown() {
    let mut rng = StdRng::seed_from_u64(7);
    let mut runs = [run("native", 0, &mut rng), run("gvisor", 40, &mut rng)];
    let few = runs[1].results[0].estimate.as_mut().unwrap();
    (few.low, few.high) = (f64::NEG_INFINITY, f64::INFINITY);
    let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
    assert_eq!(ladders(&table, &Settings::default())[0].steps[1].adds, None);
    let compared = compare_columns(table, &Settings::default());
    let ratios: Vec<bool> =
        compared.rows.iter().flatten().flatten().map(|row| row.ratio.is_some()).collect();
    assert_eq!(ratios, [false, true, true]);
}
