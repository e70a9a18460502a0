//! The x from which one series lies below another, with its interval.

use std::collections::BTreeMap;

use cases::concurrency::metrics::SHORTEST_JOB;
use measure::doubt::Axis;
use measure::stats::{Interval, LEVEL};
use measure::{Doubt, TIME};
use results::{CaseResult, Estimate, Outcome};

use crate::change::FLOOR_AT_LEAST;
use crate::resample;

const CASE: &str = "concurrency/worth";
/// The executor that the others are compared with.
const SERIAL: &str = "serial";

/// The x from which `a` lies below `b` up to the largest measured x.
#[derive(Debug, Clone, PartialEq)]
pub enum Crossing {
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

/// One x with the rounds' values of both.
struct Place<'a> {
    ln_x: f64,
    a: &'a [f64],
    b: &'a [f64],
}

/// Finds the x from which the medians of `a` stay below those of `b`.
///
/// `a[i]` and `b[i]` are the rounds' values at `x[i]`. Between neighbours the logarithm of the ratio of the medians is
/// interpolated linearly over the logarithm of `x`; nothing is extrapolated. The interval comes from a bootstrap over
/// rounds. Crossings of single rounds are biased upwards, because noise at any larger x moves them there: in a
/// simulation of curves that lie 5 % apart at the end, 80 and 61 % of the intervals of their median cover the true
/// value (6 and 10 rounds), and 97 and 99 % of these. Values without a logarithm are left out.
pub fn crossing(x: &[f64], a: &[Vec<f64>], b: &[Vec<f64>], seed: u64) -> Crossing {
    let positive = |values: &[f64]| {
        !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    let mut places: Vec<Place> = x
        .iter()
        .zip(a.iter().zip(b))
        .filter(|(x, (a, b))| positive(&[**x]) && positive(a) && positive(b))
        .map(|(x, (a, b))| Place { ln_x: x.ln(), a, b })
        .collect();
    places.sort_by(|one, other| one.ln_x.total_cmp(&other.ln_x));
    places.dedup_by(|one, other| one.ln_x == other.ln_x);
    let [first, .., last] = &places[..] else { return Crossing::TooFew };
    let (first, last) = (first.ln_x, last.ln_x);
    let series: Vec<&[f64]> = places.iter().flat_map(|place| [place.a, place.b]).collect();
    let ln_x: Vec<f64> = places.iter().map(|place| place.ln_x).collect();
    let medians = resample::medians(&series);
    let center = locate_pairs(&ln_x, &medians);
    let [.., a_last, b_last] = &medians[..] else { return Crossing::TooFew };
    if center == f64::INFINITY || b_last / a_last < 1.0 + FLOOR_AT_LEAST {
        return Crossing::Never;
    }
    let within = |at: f64| at.clamp(first, last);
    let rounds = resample::rounds(&series);
    let draws = resample::draws(&series, seed);
    let figures = draws.iter().map(|medians| within(locate_pairs(&ln_x, medians))).collect();
    let (low, high) = resample::interval(rounds, within(center), figures);
    if center == f64::NEG_INFINITY {
        return Crossing::Before { at_most: high.exp() };
    }
    let alone = |round: usize| {
        let values: Vec<f64> = series.iter().map(|values| values[round]).collect();
        Some(locate_pairs(&ln_x, &values)).filter(|at| at.is_finite()).map(f64::exp)
    };
    Crossing::At {
        at: Interval { median: center.exp(), low: low.exp(), high: high.exp() },
        open_below: low <= first,
        open_above: high >= last,
        rounds: (0..rounds).map(alone).collect::<Option<_>>().unwrap_or_default(),
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

/// The rows derived from the times of `concurrency/worth`: `shortest-job`, for each executor other than `serial`, the
/// job length from which it finishes sooner than the serial executor.
///
/// If there is no such length among those measured, the row has a reason and no figure.
pub fn crossovers(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let times = results.iter().filter(|r| r.case == CASE && r.metric == TIME.name);
    let mut groups: BTreeMap<BTreeMap<String, String>, Vec<Timed>> = BTreeMap::new();
    for result in times {
        let mut params = result.params.clone();
        let Some(text) = params.remove("length") else { continue };
        let Some(ns) = nanoseconds(&text) else { continue };
        groups.entry(params).or_default().push(Timed { ns, text, result });
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        group.dedup_by(|a, b| a.ns == b.ns);
    }
    let others = groups.iter().filter(|(params, _)| params.contains_key("executor"));
    let others = others.filter(|(params, _)| params["executor"] != SERIAL);
    others
        .map(|(params, times)| shortest_job(params, times, serial_of(params, &groups), seed))
        .collect()
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

/// The time for jobs of one length.
struct Timed<'a> {
    ns: f64,
    text: String,
    result: &'a CaseResult,
}

/// The serial counterpart, with the same parameters except the degree, which serial execution lacks.
fn serial_of<'g, 'a>(
    params: &BTreeMap<String, String>,
    groups: &'g BTreeMap<BTreeMap<String, String>, Vec<Timed<'a>>>,
) -> &'g [Timed<'a>] {
    let mut wanted = params.clone();
    wanted.insert("executor".to_owned(), SERIAL.to_owned());
    let without_degree = |params: &BTreeMap<String, String>| {
        let mut params = params.clone();
        params.remove("degree");
        params
    };
    let has_params = |(params, _): &(&BTreeMap<String, String>, &Vec<Timed>)| {
        without_degree(params) == without_degree(&wanted)
    };
    let found =
        groups.get(&wanted).or_else(|| groups.iter().find(has_params).map(|(_, times)| times));
    found.map_or(&[], |times| times)
}

fn shortest_job(
    params: &BTreeMap<String, String>,
    times: &[Timed],
    serial: &[Timed],
    seed: u64,
) -> CaseResult {
    let row = CaseResult::of(CASE, params.clone(), &SHORTEST_JOB);
    let without_figure = |reason: String| {
        let (outcome, reason) = (Outcome::Unsupported, Some(reason));
        CaseResult { outcome, reason, ..row.clone() }
    };
    let is_measured = |timed: &&Timed| timed.result.estimate.is_some();
    let partner = |timed: &Timed| serial.iter().filter(is_measured).find(|s| s.ns == timed.ns);
    let measured = times.iter().filter(is_measured);
    let pairs: Vec<(&Timed, &Timed)> = measured.filter_map(|it| Some((it, partner(it)?))).collect();
    let [(shortest, _), .., (longest, _)] = &pairs[..] else {
        let reason = "fewer than two lengths were measured both with it and serially";
        return without_figure(reason.to_owned());
    };
    let (shortest, longest) = (&shortest.text, &longest.text);
    let x: Vec<f64> = pairs.iter().map(|(it, _)| it.ns).collect();
    let a: Vec<Vec<f64>> = pairs.iter().map(|(it, _)| it.result.round_values.clone()).collect();
    let b: Vec<Vec<f64>> = pairs.iter().map(|(_, s)| s.result.round_values.clone()).collect();
    let (at, open_below, open_above, round_values) = match crossing(&x, &a, &b, seed) {
        Crossing::At { at, open_below, open_above, rounds } => (at, open_below, open_above, rounds),
        Crossing::TooFew => return without_figure("fewer than two lengths have rounds".to_owned()),
        Crossing::Never => {
            return without_figure(format!("never sooner by more than 1 %, up to {longest}"));
        }
        Crossing::Before { at_most } => {
            let unsure = if at_most > x[0] { ", though not certainly" } else { "" };
            let first = "the shortest measured";
            return without_figure(format!("sooner already at {shortest}, {first}{unsure}"));
        }
    };
    let lost = times.iter().filter(|timed| !x.contains(&timed.ns)).map(|timed| timed.text.clone());
    let lengths: Vec<String> = lost.collect();
    let rounds = a.iter().chain(&b).map(Vec::len).min().unwrap_or(0);
    let lost = (!lengths.is_empty()).then_some(Doubt::LengthsNotMeasured { lengths });
    let (lowest, highest) = (open_below.then_some(shortest), open_above.then_some(longest));
    let open = open_ends(Axis::JobLength, lowest, highest);
    let alone = (rounds < 2).then_some(Doubt::OneRound);
    CaseResult {
        estimate: Some(Estimate { median: at.median, low: at.low, high: at.high, level: LEVEL }),
        rounds: rounds as u32,
        round_values,
        doubts: lost.into_iter().chain(open).chain(alone).collect(),
        ..row
    }
}

/// A duration in the form of parameters, such as `450us`, in ns.
fn nanoseconds(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let ns = number.trim().parse::<f64>().ok()? * scale;
    (ns.is_finite() && ns > 0.0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use crate::simulated::{noise, outlier};

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

    #[test]
    fn durations_are_read() {
        let read = ["1us", "450us", "4.05ms", "2430ms", "20ns", "1.5s", "us", "5", "-1us", "1h"];
        let expected = [1e3, 45e4, 405e4, 243e7, 20.0, 15e8];
        for (text, ns) in read.iter().zip(expected) {
            assert!((nanoseconds(text).unwrap() / ns - 1.0).abs() < 1e-12, "{text}");
        }
        assert!(read[6..].iter().all(|text| nanoseconds(text).is_none()));
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
