//! The part of the time that a lock takes beside the work under it, and the work from which that part is small.

use super::{HANDOVER, LOCK_SHARE, MILLION_PAIRS, WORK_FOR_HUNDREDTH, WORK_FOR_TENTH};
use measure::count::parse_duration;
use measure::doubt::Axis;
use measure::stats::median;
use measure::worker_group::RATE;
use measure::{Metric, TIME};
use results::{CaseResult, Estimate, PointKey};

use analysis::crossing::{CrossingStep, CrossingWords, crossing_row};
use analysis::derive::{find, has_positive_rounds, sweeps, with_figure};
use analysis::resample::Bootstrap;

const AREA: &str = "lock/";
const WORK: &str = "work";
const WORKERS: &str = "workers";
const OUTSIDE: &str = "outside";
const NO_WORK: &str = "none";

/// Metrics that are derived for each lock with work, each with the share of the time that the lock may take.
const CROSSINGS: [(&Metric, f64); 2] = [(&WORK_FOR_TENTH, 0.1), (&WORK_FOR_HUNDREDTH, 0.01)];

/// The time from the beginning of one worker's work to that of the next worker's at one point.
struct WorkedPair<'r> {
    /// Result of the point: the time of one worker, or the rate of several.
    of: &'r CaseResult,
    work: &'r str,
    /// Time of the work itself, in ns, in each round.
    work_ns: Vec<f64>,
    /// Time of a pair including the work, in ns, in each round.
    all_ns: Vec<f64>,
    /// Time of a pair without the work, in ns, in each round.
    rest_ns: Vec<f64>,
}

/// The rows derived from locks with work: `lock-share`, `million-pairs` and, for several workers, `handover` at each point; and
/// for each lock `work-for-10%` and `work-for-1%`, the work from which the lock takes less than that share of the time.
///
/// The time of the work is the difference between the times of one worker with and without it. The time of a pair with several
/// workers follows from their rate. Points with work outside of the lock have no rows, since another worker can do such work
/// meanwhile.
pub fn lock_shares(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let usable = results.iter().filter(|result| is_usable(result));
    let ns = |text: &str| parse_duration(text).ok().map(|work| work.as_nanos() as f64);
    let mut rows = Vec::new();
    for (point, steps) in &sweeps(usable, WORK, ns) {
        let pairs = steps.iter().filter_map(|step| worked_pair(step.result, step.text, results));
        let mut pairs: Vec<WorkedPair> = pairs.collect();
        if pairs.is_empty() {
            continue;
        }
        rows.extend(pairs.iter().flat_map(|pair| rows_of(pair, seed)));
        pairs.sort_by(|a, b| median_of(&a.work_ns).total_cmp(&median_of(&b.work_ns)));
        rows.extend(CROSSINGS.map(|(metric, share)| work_for(point, metric, share, &pairs, seed)));
    }
    rows
}

fn median_of(values: &[f64]) -> f64 {
    median(&mut values.to_vec())
}

/// Whether the result determines the time between pairs of a lock: the time of one worker, or the rate of several.
fn is_usable(result: &CaseResult) -> bool {
    let is_one = is(result, WORKERS, "1");
    result.case.starts_with(AREA)
        && result.metric == if is_one { TIME.name } else { RATE.name }
        && result.params.get(OUTSIDE).is_none_or(|outside| outside == NO_WORK)
        && has_positive_rounds(result)
}

fn is(result: &CaseResult, name: &str, value: &str) -> bool {
    result.params.get(name).is_some_and(|own| own == value)
}

/// The times of a point; `None` if one worker was not measured with this work and without work.
fn worked_pair<'r>(
    of: &'r CaseResult,
    work: &'r str,
    results: &'r [CaseResult],
) -> Option<WorkedPair<'r>> {
    let alone = |work: &str| {
        let mut params = of.params.clone();
        params.insert(WORK.to_owned(), work.to_owned());
        params.insert(WORKERS.to_owned(), "1".to_owned());
        find(results, &of.case, &params, TIME.name).filter(|alone| is_usable(alone))
    };
    let (with, without) = (alone(work)?, alone(NO_WORK)?);
    let free_ns = median_of(&without.round_values);
    let work_ns: Vec<f64> = with.round_values.iter().map(|ns| ns - free_ns).collect();
    if work_ns.iter().any(|ns| *ns <= 0.0) {
        return None;
    }
    if is(of, WORKERS, "1") {
        // The time without work is measured directly, which is more precise than the difference of two times.
        let rest_ns = without.round_values.iter().copied();
        let rest_ns: Vec<f64> = rest_ns.take(of.round_values.len()).collect();
        let all_ns = of.round_values[..rest_ns.len()].to_vec();
        return Some(WorkedPair { of, work, work_ns, all_ns, rest_ns });
    }
    let all_ns: Vec<f64> = of.round_values.iter().map(|rate| 1e9 / rate).collect();
    let in_turn = work_ns.iter().cycle();
    let rest_ns = all_ns.iter().zip(in_turn).map(|(all, work)| all - work).collect();
    Some(WorkedPair { of, work, work_ns, all_ns, rest_ns })
}

fn rows_of(pair: &WorkedPair, seed: u64) -> Vec<CaseResult> {
    let workers: f64 = pair.of.params[WORKERS].parse().unwrap_or(1.0);
    // 10^6 pairs of each worker take as many ms as one pair takes ns.
    let million: Vec<f64> = pair.all_ns.iter().map(|ns| ns * workers).collect();
    let of = pair.of;
    let in_ms = |value: &f64| if of.metric == TIME.name { *value } else { 1e9 / value * workers };
    let million = CaseResult {
        all_round_values: of.all_round_values.iter().map(in_ms).collect(),
        all_round_starts_ms: of.all_round_starts_ms.clone(),
        ..row(pair, &MILLION_PAIRS, million, seed)
    };
    let shares = pair.rest_ns.iter().zip(&pair.all_ns).map(|(rest, all)| rest / all).collect();
    let mut rows = vec![row(pair, &LOCK_SHARE, shares, seed), million];
    if workers > 1.0 {
        rows.push(row(pair, &HANDOVER, pair.rest_ns.clone(), seed));
    }
    rows
}

fn row(pair: &WorkedPair, metric: &Metric, round_values: Vec<f64>, seed: u64) -> CaseResult {
    let figure = Bootstrap::of(&[&round_values], seed).interval(|medians| medians[0]);
    let row = CaseResult::of(&pair.of.case, pair.of.params.clone(), metric);
    let row = with_figure(row, figure, round_values.len());
    let starts_ms = pair.of.round_starts_ms.get(..round_values.len()).unwrap_or_default().to_vec();
    let disturbed = pair.of.disturbed;
    CaseResult { disturbed, round_values, round_starts_ms: starts_ms, ..row }
}

/// The work from which the lock takes less than this share of the time. The pairs ascend by their work.
fn work_for(
    point: &PointKey,
    metric: &Metric,
    share: f64,
    pairs: &[WorkedPair],
    seed: u64,
) -> CaseResult {
    let allowed = |pair: &WorkedPair| pair.all_ns.iter().map(|ns| ns * share).collect();
    let allowed: Vec<Vec<f64>> = pairs.iter().map(allowed).collect();
    // Over the time of a pair, the share of the constant part is a straight line in logarithms.
    let steps = pairs.iter().zip(&allowed).map(|(pair, allowed)| {
        let (x, text) = (median_of(&pair.all_ns), pair.work);
        CrossingStep { x, text, a: &pair.rest_ns, b: allowed }
    });
    let steps: Vec<CrossingStep> = steps.collect();
    let percent = share * 100.0;
    let words = CrossingWords {
        too_few: "measured with work of fewer than two lengths",
        without_rounds: "fewer than two lengths have rounds",
        never: &|most| format!("more than {percent} % up to {most} of work"),
        before: &|least| format!("less than {percent} % already at {least} of work"),
        axis: Axis::Work,
    };
    let row = CaseResult::of(&point.case, point.params.clone(), metric);
    let row = crossing_row(row, &steps, &words, seed);
    // The remaining time of a pair is work.
    let work = |all_ns: f64| all_ns * (1.0 - share);
    let estimate = row.estimate.map(|at| Estimate {
        median: work(at.median),
        low: work(at.low),
        high: work(at.high),
        ..at
    });
    let round_values = row.round_values.iter().map(|at| work(*at)).collect();
    CaseResult { estimate, round_values, ..row }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use simulated::{figure_of, noise};

    const LENGTHS: [(&str, f64); 4] =
        [("none", 0.0), ("100ns", 100.0), ("1us", 1_000.0), ("10us", 10_000.0)];

    fn result(workers: &str, work: &str, metric: &Metric, round_values: Vec<f64>) -> CaseResult {
        let params = [("workers", workers), ("as", "threads"), ("work", work), ("outside", "none")];
        let metric = (metric.name, metric.unit, Direction::Lower);
        figure_of(("lock/x", params), metric, round_values)
    }

    /// A lock that costs 60 ns, and 300 ns more to hand over between two workers, whose work takes 3 % longer than requested.
    fn lock(noise_of: &mut dyn FnMut() -> f64) -> Vec<CaseResult> {
        let mut results = Vec::new();
        for (work, ns) in LENGTHS {
            let mut times = |ns: f64| (0..12).map(|_| ns * (1.0 + noise_of())).collect::<Vec<_>>();
            results.push(result("1", work, &TIME, times(60.0 + ns * 1.03)));
            let rates = times(360.0 + ns * 1.03).into_iter().map(|ns| 1e9 / ns).collect();
            results.push(result("2", work, &RATE, rates));
            results.push(result("2", work, &TIME, vec![1.0; 12]));
        }
        results
    }

    fn found<'r>(
        rows: &'r [CaseResult],
        workers: &str,
        work: Option<&str>,
        metric: &Metric,
    ) -> &'r CaseResult {
        let matches = |row: &&CaseResult| {
            row.metric == metric.name
                && row.params["workers"] == workers
                && row.params.get("work").map(String::as_str) == work
        };
        rows.iter().find(matches).unwrap_or_else(|| panic!("{workers} {work:?} {}", metric.name))
    }

    #[test]
    fn shares_and_crossings_of_a_lock_of_known_cost() {
        let rows = lock_shares(&lock(&mut || 0.0), 1);
        let near = |row: &CaseResult, value: f64| {
            assert_eq!(row.check(), Ok(()));
            let found = row.estimate.expect("a figure").median;
            assert!((found / value - 1.0).abs() < 1e-6, "{} {found} {value}", row.label());
        };
        near(found(&rows, "1", Some("1us"), &LOCK_SHARE), 60.0 / 1_090.0);
        near(found(&rows, "2", Some("1us"), &LOCK_SHARE), 360.0 / 1_390.0);
        near(found(&rows, "2", Some("10us"), &HANDOVER), 360.0);
        near(found(&rows, "2", Some("1us"), &MILLION_PAIRS), 2.0 * 1_390.0);
        near(found(&rows, "1", None, &WORK_FOR_TENTH), 9.0 * 60.0);
        near(found(&rows, "1", None, &WORK_FOR_HUNDREDTH), 99.0 * 60.0);
        near(found(&rows, "2", None, &WORK_FOR_TENTH), 9.0 * 360.0);
        let never = found(&rows, "2", None, &WORK_FOR_HUNDREDTH);
        assert_eq!(never.reason.as_deref(), Some("more than 1 % up to 10us of work"));
        assert!(rows.iter().all(|row| row.metric != HANDOVER.name || row.params["workers"] == "2"));
    }

    #[test]
    fn intervals_cover_the_true_work() {
        let mut rng = StdRng::seed_from_u64(3);
        let trials = 100;
        let covered = (0..trials).filter(|&trial| {
            let rows = lock_shares(&lock(&mut || 0.004 * noise(&mut rng)), trial);
            let at = found(&rows, "1", None, &WORK_FOR_TENTH).estimate.expect("a figure");
            at.low <= 540.0 && 540.0 <= at.high
        });
        assert!(covered.count() >= 88);
    }

    #[test]
    fn without_one_worker_or_with_work_outside_there_are_no_rows() {
        let all = lock(&mut || 0.0);
        let several: Vec<CaseResult> =
            all.iter().filter(|r| r.params["workers"] == "2").cloned().collect();
        assert_eq!(lock_shares(&several, 1), []);
        let outside: Vec<CaseResult> = all
            .into_iter()
            .map(|mut result| {
                result.params.insert("outside".to_owned(), "1us".to_owned());
                result
            })
            .collect();
        assert_eq!(lock_shares(&outside, 1), []);
    }
}
