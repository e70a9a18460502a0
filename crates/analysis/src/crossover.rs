//! The x from which one series lies below another, with its interval.

use std::collections::BTreeMap;

use cases::concurrency::metrics::SHORTEST_JOB;
use measure::count::parse_duration;
use measure::doubt::Axis;
use measure::stats::Interval;
use measure::{Doubt, TIME};
use results::{CaseResult, PointKey};

use crate::change::FLOOR_AT_LEAST;
use crate::derived::{SweepStep, are_positive, sweeps, with_figure, without_figure};
use crate::resample::Bootstrap;

const CASE: &str = "concurrency/worth";
/// The executor that the others are compared with.
const SERIAL: &str = "serial";

/// The x from which `a` lies below `b` up to the largest measured x.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Crossing {
    /// It crosses within the range.
    At {
        /// The x, with its interval; an open end lies at the edge of the range.
        at: Interval,
        /// The interval may begin below the smallest x.
        open_below: bool,
        /// The interval may end above the largest x, or nowhere.
        open_above: bool,
        /// The crossing of each single round, if every one of them has one.
        rounds: Vec<f64>,
    },
    /// `a` is below `b` already at the smallest x.
    Before {
        /// Upper end of the interval: the smallest x, unless a crossing may be hidden by noise.
        at_most: f64,
    },
    /// `a` is not below `b` by more than the noise floor (1 %) at the largest x.
    Never,
    /// Fewer than two x have values above zero of both.
    TooFew,
}

/// Finds the x from which the medians of `a` stay below those of `b`.
///
/// `a[i]` and `b[i]` are the rounds' values at `x[i]`. Between neighbours the logarithm of the ratio of the medians is
/// interpolated linearly over the logarithm of `x`; nothing is extrapolated. The interval comes from a bootstrap over
/// rounds. Crossings of single rounds are biased upwards, because noise at any larger x moves them there: in a
/// simulation of curves that lie 5 % apart at the end, 80 and 61 % of the intervals of their median cover the true
/// value (6 and 10 rounds), and 97 and 99 % of these. Values without a logarithm are left out.
pub(crate) fn crossing(x: &[f64], a: &[&[f64]], b: &[&[f64]], seed: u64) -> Crossing {
    let usable = x.iter().zip(a.iter().zip(b));
    let usable =
        usable.filter(|(x, (a, b))| are_positive(&[**x]) && are_positive(a) && are_positive(b));
    let mut both: Vec<(f64, [&[f64]; 2])> = usable.map(|(x, (a, b))| (x.ln(), [*a, *b])).collect();
    both.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    both.dedup_by(|(one, _), (other, _)| one == other);
    let (ln_x, series): (Vec<f64>, Vec<[&[f64]; 2]>) = both.into_iter().unzip();
    let [first, .., last] = ln_x[..] else { return Crossing::TooFew };
    let series = series.as_flattened();
    let medians = Bootstrap::of(series, seed);
    let center = locate_pairs(&ln_x, &medians.center);
    let [.., a_last, b_last] = &medians.center[..] else { return Crossing::TooFew };
    if center == f64::INFINITY || b_last / a_last < 1.0 + FLOOR_AT_LEAST {
        return Crossing::Never;
    }
    let at = medians.interval(|medians| locate_pairs(&ln_x, medians).clamp(first, last));
    if center == f64::NEG_INFINITY {
        return Crossing::Before { at_most: at.high.exp() };
    }
    let alone = |round: usize| {
        let values: Vec<f64> = series.iter().map(|values| values[round]).collect();
        Some(locate_pairs(&ln_x, &values)).filter(|at| at.is_finite()).map(f64::exp)
    };
    Crossing::At {
        at: Interval { median: center.exp(), low: at.low.exp(), high: at.high.exp() },
        open_below: at.low <= first,
        open_above: at.high >= last,
        rounds: (0..medians.rounds).map(alone).collect::<Option<_>>().unwrap_or_default(),
    }
}

/// The logarithm of the crossing, from `a` and `b` at each x in turn.
fn locate_pairs(ln_x: &[f64], pairs: &[f64]) -> f64 {
    let ratios: Vec<f64> = pairs.chunks_exact(2).map(|pair| (pair[0] / pair[1]).ln()).collect();
    locate(ln_x, &ratios)
}

/// The logarithm of the crossing, from the logarithms of the ratio of `a` to `b` at each x; minus infinity if `a` is below
/// throughout, infinity if it is not below at the end. The greater the ratios, the greater the crossing.
pub(crate) fn locate(ln_x: &[f64], ratios: &[f64]) -> f64 {
    match ratios.iter().rposition(|&ratio| ratio >= 0.0) {
        None => f64::NEG_INFINITY,
        Some(at) if at + 1 == ratios.len() => f64::INFINITY,
        Some(at) => {
            let share = ratios[at] / (ratios[at] - ratios[at + 1]);
            ln_x[at] + share * (ln_x[at + 1] - ln_x[at])
        }
    }
}

/// Two alternatives at one x.
pub(crate) struct CrossingStep<'a> {
    pub(crate) x: f64,
    /// The x as it is written.
    pub(crate) text: &'a str,
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
}

/// What is said of a crossing.
pub(crate) struct CrossingWords<'w> {
    /// There are fewer than two x.
    pub(crate) too_few: &'w str,
    /// Fewer than two x have rounds.
    pub(crate) without_rounds: &'w str,
    /// `a` is not below `b` up to the largest x.
    pub(crate) never: &'w dyn Fn(&str) -> String,
    /// `a` is below `b` already at the smallest x.
    pub(crate) before: &'w dyn Fn(&str) -> String,
    /// What the x are.
    pub(crate) axis: Axis,
}

/// The row with the x from which `a` stays below `b`, or with the reason why there is none. The steps ascend.
pub(crate) fn crossing_row(
    row: CaseResult,
    steps: &[CrossingStep],
    words: &CrossingWords,
    seed: u64,
) -> CaseResult {
    let [first, .., last] = steps else { return without_figure(row, words.too_few.to_owned()) };
    let x: Vec<f64> = steps.iter().map(|step| step.x).collect();
    let (a, b): (Vec<&[f64]>, Vec<&[f64]>) = steps.iter().map(|step| (step.a, step.b)).unzip();
    let reason = match crossing(&x, &a, &b, seed) {
        Crossing::At { at, open_below, open_above, rounds } => {
            let all = a.iter().chain(&b).map(|values| values.len()).min().unwrap_or(0);
            let lowest = open_below.then_some(first.text);
            let open = open_ends(words.axis, lowest, open_above.then_some(last.text));
            let doubts = open.chain((all < 2).then_some(Doubt::OneRound)).collect();
            return CaseResult { round_values: rounds, doubts, ..with_figure(row, at, all) };
        }
        Crossing::TooFew => words.without_rounds.to_owned(),
        Crossing::Never => (words.never)(last.text),
        Crossing::Before { at_most } => {
            let unsure = if at_most > x[0] { ", though not certainly" } else { "" };
            format!("{}{unsure}", (words.before)(first.text))
        }
    };
    without_figure(row, reason)
}

/// The doubts about a figure whose interval reaches the `lowest` or `highest` value measured.
pub(crate) fn open_ends(
    axis: Axis,
    lowest: Option<impl ToString>,
    highest: Option<impl ToString>,
) -> impl Iterator<Item = Doubt> {
    let below = lowest.map(|lowest| Doubt::MayLieBelow { axis, lowest: lowest.to_string() });
    let above = highest.map(|highest| Doubt::MayLieAbove { axis, highest: highest.to_string() });
    below.into_iter().chain(above)
}

const WORDS: CrossingWords = CrossingWords {
    too_few: "fewer than two lengths were measured both with it and serially",
    without_rounds: "fewer than two lengths have rounds",
    never: &|longest| format!("never sooner by more than 1 %, up to {longest}"),
    before: &|shortest| format!("sooner already at {shortest}, the shortest measured"),
    axis: Axis::JobLength,
};

/// The rows derived from the times of `concurrency/worth`: `shortest-job`, for each executor other than `serial`, the
/// job length from which it finishes sooner than the serial executor.
///
/// If there is no such length among those measured, the row has a reason and no figure.
pub fn crossovers(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let times = results.iter().filter(|r| r.case == CASE && r.metric == TIME.name);
    let ns = |text: &str| parse_duration(text).ok().map(|length| length.as_nanos() as f64);
    let all = sweeps(times, "length", ns);
    let is_other = |point: &PointKey| point.params.get("executor").is_some_and(|it| it != SERIAL);
    let others = all.iter().filter(|(point, _)| is_other(point));
    others.map(|(point, times)| shortest_job(point, times, serial_of(point, &all), seed)).collect()
}

/// The serial counterpart, with the same parameters except the degree, which serial execution lacks.
fn serial_of<'g, 'a>(
    point: &PointKey,
    all: &'g BTreeMap<PointKey, Vec<SweepStep<'a>>>,
) -> &'g [SweepStep<'a>] {
    let mut wanted = point.clone();
    wanted.params.insert("executor".to_owned(), SERIAL.to_owned());
    let without_degree = |point: &PointKey| {
        let mut params = point.params.clone();
        params.remove("degree");
        params
    };
    let fits = |(point, _): &(&PointKey, _)| without_degree(point) == without_degree(&wanted);
    let found = all.get(&wanted).or_else(|| all.iter().find(fits).map(|(_, times)| times));
    found.map_or(&[], |times| times)
}

fn shortest_job(
    point: &PointKey,
    times: &[SweepStep],
    serial: &[SweepStep],
    seed: u64,
) -> CaseResult {
    let row = CaseResult::of(CASE, point.params.clone(), &SHORTEST_JOB);
    let has_figure = |step: &&SweepStep| step.result.estimate.is_some();
    let measured = times.iter().filter(has_figure);
    let pairs = measured.filter_map(|step| {
        let serial = serial.iter().filter(has_figure).find(|serial| serial.x == step.x)?;
        let (a, b) = (&step.result.round_values[..], &serial.result.round_values[..]);
        Some(CrossingStep { x: step.x, text: step.text, a, b })
    });
    let steps: Vec<CrossingStep> = pairs.collect();
    let mut row = crossing_row(row, &steps, &WORDS, seed);
    let is_lost = |step: &&SweepStep| !steps.iter().any(|used| used.x == step.x);
    let lost: Vec<String> = times.iter().filter(is_lost).map(|step| step.text.to_owned()).collect();
    if row.estimate.is_some() && !lost.is_empty() {
        row.doubts.insert(0, Doubt::LengthsNotMeasured { lengths: lost });
    }
    row
}

#[cfg(test)]
mod tests {
    use measure::stats::LEVEL;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::{Direction, Estimate, Outcome};

    use super::*;
    use crate::simulated::{noise, outlier};

    fn crossing(x: &[f64], a: &[Vec<f64>], b: &[Vec<f64>], seed: u64) -> Crossing {
        let [a, b] = [a, b].map(|all| all.iter().map(Vec::as_slice).collect::<Vec<_>>());
        super::crossing(x, &a, &b, seed)
    }

    const LENGTHS: [(&str, f64); 7] = [
        ("1us", 1e3),
        ("2us", 2e3),
        ("5us", 5e3),
        ("10us", 1e4),
        ("20us", 2e4),
        ("50us", 5e4),
        ("100us", 1e5),
    ];

    fn xs() -> Vec<f64> {
        LENGTHS.iter().map(|(_, ns)| *ns).collect()
    }

    /// Rounds of 64 jobs that each take `share` of their length and `overhead` ns, and of the same jobs executed
    /// serially.
    fn rounds(
        (share, overhead): (f64, f64),
        rounds: usize,
        rng: &mut StdRng,
    ) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut draw = |ns: f64| -> Vec<f64> {
            (0..rounds).map(|_| ns * (1.0 + 0.02 * noise(rng)) * outlier(rng)).collect()
        };
        let threads = xs().iter().map(|ns| draw(64.0 * (ns * share + overhead))).collect();
        let serial = xs().iter().map(|ns| draw(64.0 * ns)).collect();
        (threads, serial)
    }

    #[test]
    fn intervals_cover_the_true_crossing() {
        const TRIALS: u64 = 200;
        let mut rng = StdRng::seed_from_u64(1);
        for count in [6, 10] {
            for (part, overhead) in [(0.5, 3_000.0), (0.9, 500.0)] {
                // The straight line between neighbours is not the curve: its own crossing is the truth.
                let ratio = |ns: &f64| [ns * part + overhead, *ns];
                let ln_x: Vec<f64> = xs().iter().map(|x| x.ln()).collect();
                let truth =
                    locate_pairs(&ln_x, &xs().iter().flat_map(ratio).collect::<Vec<_>>()).exp();
                assert!((truth / (overhead / (1.0 - part)) - 1.0).abs() < 0.1, "{truth}");
                let covered = (0..TRIALS).filter(|&trial| {
                    let (threads, serial) = rounds((part, overhead), count, &mut rng);
                    match crossing(&xs(), &threads, &serial, trial) {
                        Crossing::At { at, .. } => at.low <= truth && truth <= at.high,
                        _ => false,
                    }
                });
                let share = covered.count() as f64 / TRIALS as f64;
                println!("{count} rounds, {truth:.0} ns: {:.1} %", share * 100.0);
                // 200 trials at 95 %: two standard errors are 3.1 %.
                assert!(share >= LEVEL - 0.031, "{count} rounds, {truth} ns: {share}");
            }
        }
    }

    fn flat(values: [f64; 7]) -> Vec<Vec<f64>> {
        values.iter().map(|value| vec![*value; 6]).collect()
    }

    #[test]
    fn the_crossing_is_where_the_line_between_neighbours_says() {
        // At 5 us it is 10 % later, at 10 us as much sooner: half way between, by logarithms.
        let serial = flat([100.0; 7]);
        let (over, under) = (110.0, 100.0 / 1.1);
        let threads = flat([300.0, 90.0, over, under, 80.0, 70.0, 60.0]);
        let Crossing::At { at, open_below, open_above, rounds } =
            crossing(&xs(), &threads, &serial, 1)
        else {
            panic!("it crosses");
        };
        assert!((at.median - (5e3f64 * 1e4).sqrt()).abs() < 1e-6, "{at:?}");
        // Sooner at 2 us already, but not from there on.
        assert_eq!((at.low, at.high, open_below, open_above), (at.median, at.median, false, false));
        assert_eq!(rounds.len(), 6);
    }

    #[test]
    fn nothing_is_said_of_what_lies_outside_the_range() {
        let serial = flat([100.0; 7]);
        let sooner = flat([60.0; 7]);
        assert_eq!(
            crossing(&xs(), &sooner, &serial, 1),
            Crossing::Before { at_most: 1e3f64.ln().exp() }
        );
        assert_eq!(crossing(&xs(), &serial, &sooner, 1), Crossing::Never);
        // As on one CPU: half a percent is no advantage.
        let even = flat([130.0, 120.0, 110.0, 105.0, 102.0, 101.0, 99.5]);
        assert_eq!(crossing(&xs(), &even, &serial, 1), Crossing::Never);
        assert_eq!(crossing(&[1.0], &[vec![1.0]], &[vec![2.0]], 1), Crossing::TooFew);
        assert_eq!(crossing(&[], &[], &[], 1), Crossing::TooFew);
    }

    #[test]
    fn one_cpu_seldom_gets_a_figure() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut draw = |center: f64| -> Vec<f64> {
            (0..10).map(|_| center * (1.0 + 0.005 * noise(&mut rng))).collect()
        };
        let found = (0..200).filter(|&seed| {
            let threads: Vec<_> = xs().iter().map(|ns| draw(ns + 2e3)).collect();
            let serial: Vec<_> = xs().iter().map(|ns| draw(*ns)).collect();
            crossing(&xs(), &threads, &serial, seed) != Crossing::Never
        });
        assert_eq!(found.count(), 0);
    }

    #[test]
    fn an_interval_that_reaches_the_edge_is_open() {
        let mut rng = StdRng::seed_from_u64(5);
        let draw = |x: &f64, ratio: f64, rng: &mut StdRng| -> Vec<f64> {
            (0..6).map(|_| x * ratio * (1.0 + 0.08 * noise(rng))).collect()
        };
        let serial: Vec<_> = xs().iter().map(|x| draw(x, 1.0, &mut rng)).collect();
        let ratios = [1.4, 1.3, 1.2, 1.15, 1.1, 1.05, 0.95];
        let threads: Vec<_> = xs().iter().zip(ratios).map(|(x, r)| draw(x, r, &mut rng)).collect();
        let Crossing::At { at, open_above, .. } = crossing(&xs(), &threads, &serial, 1) else {
            panic!("it crosses");
        };
        assert!(open_above && (at.high / 1e5 - 1.0).abs() < 1e-9, "{at:?}");
    }

    fn timed(params: &[(&str, &str)], round_values: Vec<f64>) -> CaseResult {
        let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let median = measure::stats::median(&mut round_values.clone());
        CaseResult {
            estimate: Some(Estimate { median, low: median, high: median, level: LEVEL }),
            rounds: round_values.len() as u32,
            round_values,
            ..CaseResult::blank(CASE, params, "time", "ns/op", Direction::Lower)
        }
    }

    fn worth(executor: &str, degree: &str, times: &[Vec<f64>]) -> Vec<CaseResult> {
        let rows = LENGTHS.iter().zip(times);
        rows.map(|((length, _), times)| {
            let params =
                [("executor", executor), ("length", length), ("jobs", "64"), ("degree", degree)];
            timed(&params, times.clone())
        })
        .collect()
    }

    #[test]
    fn each_executor_gets_a_row() {
        let mut rng = StdRng::seed_from_u64(2);
        let (threads, serial) = rounds((0.5, 3_000.0), 10, &mut rng);
        let mut results = worth("serial", "1", &serial);
        results.extend(worth("threads", "2", &threads));
        results.extend(worth("pool", "2", &flat([1.0; 7])));
        results.extend(worth("tokio", "2", &flat([1e9; 7])));
        results.extend(worth("rayon", "2", &[]));
        let rows = crossovers(&results, 1);
        let said =
            |executor: &str| rows.iter().find(|row| row.params["executor"] == executor).unwrap();
        assert_eq!(rows.len(), 3);
        for row in &rows {
            assert_eq!(row.check(), Ok(()));
            assert_eq!((row.metric.as_str(), row.unit.as_str()), ("shortest-job", "ns"));
            assert!(!row.params.contains_key("length"));
        }
        let found = said("threads");
        assert!(found.estimate.unwrap().low < 6e3 && found.estimate.unwrap().high > 5.5e3);
        assert_eq!((found.rounds, found.round_values.len(), found.doubts.len()), (10, 10, 0));
        let reason = |executor| said(executor).reason.as_deref().unwrap();
        assert_eq!(reason("pool"), "sooner already at 1us, the shortest measured");
        assert_eq!(reason("tokio"), "never sooner by more than 1 %, up to 100us");
    }

    #[test]
    fn failed_lengths_are_reported() {
        let mut rng = StdRng::seed_from_u64(2);
        let (threads, serial) = rounds((0.5, 3_000.0), 10, &mut rng);
        let mut results = worth("serial", "1", &serial);
        results.extend(worth("threads", "2", &threads));
        let failed = results.iter_mut().find(|r| r.params["length"] == "20us").unwrap();
        failed.outcome = Outcome::Failed;
        failed.reason = Some("it crashed".to_owned());
        failed.estimate = None;
        let row = crossovers(&results, 1).remove(0);
        assert_eq!(row.doubts, [Doubt::LengthsNotMeasured { lengths: vec!["20us".to_owned()] }]);
        let alone = crossovers(&worth("threads", "2", &threads), 1).remove(0);
        let reason = "fewer than two lengths were measured both with it and serially";
        assert_eq!(alone.reason.as_deref(), Some(reason));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rows_give_sound_rows(
            rows in prop::collection::vec(crate::simulated::any_row(CASE, "time"), 0..12), seed: u64
        ) {
            for row in crossovers(&rows, seed) {
                prop_assert_eq!(row.check(), Ok(()), "{:?}", row);
            }
        }
    }
}
