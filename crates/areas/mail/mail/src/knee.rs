//! The knee of a rate over the number of connections, from which more connections hardly increase the rate.

use super::metrics::{KNEE, RATE};
use measure::Doubt;
use measure::stats::Interval;
use results::{CaseResult, Outcome, PointKey};

use analysis::derive::{SweepStep, are_positive, sweeps, with_figure, without_figure};
use analysis::resample::Bootstrap;

const CASE: &str = "mail/send";
/// Share of the level from which a rate counts as level.
const LEVEL_FROM: f64 = 0.9;
/// Minimum number of points of a curve for a knee.
const LEVELS_AT_LEAST: usize = 3;

/// The knee of a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum Knee {
    /// The knee lies within the range.
    At {
        /// The x of the knee, with its interval.
        at: Interval,
        /// Whether the highest value may lie above the largest x: the rate still rises at the end.
        open_above: bool,
    },
    /// The rate is level from the smallest x on.
    Before,
    /// Fewer than three x have values.
    TooFew,
}

/// Finds the x from which a rate is at least 90 % of its level: of the mean of the values within 10 % of the highest. The highest
/// of several equal values is too high by chance, and a knee defined by that value alone would be, too: in the simulation below
/// only 64 % of its intervals cover the true one.
///
/// `rates[i]` are the rounds' values at `x[i]`, which ascend. Between neighbours the medians are interpolated linearly over the
/// logarithm of x; nothing is extrapolated. The interval comes from a bootstrap over rounds.
pub fn knee(x: &[f64], rates: &[&[f64]], seed: u64) -> Knee {
    let usable = x.iter().zip(rates).filter(|(x, values)| **x > 0.0 && are_positive(values));
    let (x, rates): (Vec<f64>, Vec<&[f64]>) = usable.map(|(x, values)| (*x, *values)).unzip();
    if x.len() < LEVELS_AT_LEAST || !x.is_sorted_by(|a, b| a < b) {
        return Knee::TooFew;
    }
    let medians = Bootstrap::of(&rates, seed);
    let at = medians.interval(|medians| locate(&x, medians));
    if at.high <= x[0] {
        return Knee::Before;
    }
    let last = x.len() - 1;
    let rises = medians.center[last - 1] < medians.center[last] * LEVEL_FROM;
    Knee::At { at, open_above: rises }
}

/// The x at which the rate first reaches the level.
fn locate(x: &[f64], rates: &[f64]) -> f64 {
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let level: Vec<f64> =
        rates.iter().copied().filter(|rate| *rate >= LEVEL_FROM * highest).collect();
    let wanted = LEVEL_FROM * level.iter().sum::<f64>() / level.len().max(1) as f64;
    match rates.iter().position(|rate| *rate >= wanted) {
        None | Some(0) => x[0],
        Some(at) => {
            let (before, share) = (at - 1, (wanted - rates[at - 1]) / (rates[at] - rates[at - 1]));
            (x[before].ln() + share * (x[at].ln() - x[before].ln())).exp()
        }
    }
}

/// The rows `knee` derived from the rates of `mail/send`: the number of connections from which the rate is at least 90 % of its
/// level. There is one for each group of at least three rows that differ only in the number of connections.
pub fn knees(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let is_rate =
        |r: &&CaseResult| r.case == CASE && r.metric == RATE.name && r.outcome == Outcome::Measured;
    let connections = |text: &str| text.parse::<u32>().ok().map(f64::from);
    let rates = sweeps(results.iter().filter(is_rate), "connections", connections);
    rates.into_iter().filter_map(|(point, rates)| row(point, &rates, seed)).collect()
}

fn row(point: PointKey, sweep: &[SweepStep], seed: u64) -> Option<CaseResult> {
    let x: Vec<f64> = sweep.iter().map(|step| step.x).collect();
    let rates: Vec<&[f64]> = sweep.iter().map(|step| &step.result.round_values[..]).collect();
    let row = CaseResult::of(CASE, point.params, &KNEE);
    match knee(&x, &rates, seed) {
        Knee::TooFew => None,
        Knee::Before => {
            let reason = format!("level from {}, the fewest connections measured, on", x[0]);
            Some(without_figure(row, reason))
        }
        Knee::At { at, open_above } => {
            // The cast is exact: the parameter is a whole number.
            let doubt = Doubt::StillRises { connections: x[x.len() - 1] as u32 };
            let rounds = rates.iter().map(|values| values.len()).min().unwrap_or(0);
            let doubts = open_above.then_some(doubt).into_iter().collect();
            Some(CaseResult { doubts, ..with_figure(row, at, rounds) })
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::stats::LEVEL;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use results::Direction;

    use super::*;
    use simulated::{figure_of, noise};

    const X: [f64; 7] = [1.0, 10.0, 100.0, 500.0, 1_000.0, 2_000.0, 5_000.0];

    fn flat(rates: [f64; 7]) -> Vec<Vec<f64>> {
        rates.iter().map(|rate| vec![*rate; 6]).collect()
    }

    fn of(rates: &[Vec<f64>]) -> Knee {
        knee(&X, &rates.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1)
    }

    #[test]
    fn the_knee_is_where_the_rate_reaches_its_level() {
        // 90 % of 100 lies half way from 80 at 100 connections to 100 at 500, by the logarithm.
        let Knee::At { at, open_above } = of(&flat([1.0, 10.0, 80.0, 100.0, 98.0, 102.0, 100.0]))
        else {
            panic!("it has a knee");
        };
        assert!((at.median - (100f64 * 500.0).sqrt()).abs() < 1e-6, "{at:?}");
        assert_eq!((at.low, at.high, open_above), (at.median, at.median, false));
        assert_eq!(of(&flat([95.0, 99.0, 100.0, 99.0, 98.0, 97.0, 96.0])), Knee::Before);
        let rising = of(&flat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]));
        assert!(matches!(rising, Knee::At { open_above: true, .. }), "{rising:?}");
        for (x, rates) in [(&X[..2], 2), (&[][..], 0), (&[3.0, 2.0, 1.0][..], 3)] {
            assert_eq!(knee(x, &vec![&[1.0, 2.0][..]; rates], 1), Knee::TooFew);
        }
        assert_eq!(of(&flat([f64::NAN; 7])), Knee::TooFew);
    }

    #[test]
    fn intervals_cover_the_true_knee() {
        let truth = [10.0, 95.0, 700.0, 1_000.0, 1_000.0, 990.0, 980.0];
        let exact = locate(&X, &truth);
        let mut rng = StdRng::seed_from_u64(11);
        for rounds in [5, 10] {
            let covered = (0..200).filter(|&seed| {
                let rates: Vec<Vec<f64>> = truth
                    .iter()
                    .map(|rate| {
                        (0..rounds).map(|_| rate * (1.0 + 0.03 * noise(&mut rng))).collect()
                    })
                    .collect();
                let rates: Vec<&[f64]> = rates.iter().map(Vec::as_slice).collect();
                match knee(&X, &rates, seed) {
                    Knee::At { at, .. } => at.low <= exact && exact <= at.high,
                    _ => false,
                }
            });
            let share = covered.count() as f64 / 200.0;
            println!("{rounds} rounds: {:.1} %", share * 100.0);
            // For 200 trials at 95 %, two standard errors are 3.1 %.
            assert!(share >= LEVEL - 0.031, "{rounds} rounds: {share}");
        }
    }

    #[test]
    fn each_sender_gets_a_row() {
        let rate = |connections: &str, rate: f64| {
            let point = (CASE, [("arch", "loop"), ("connections", connections)]);
            figure_of(point, ("rate", "recipients/s", Direction::Higher), vec![rate; 5])
        };
        let run = [rate("1", 10.0), rate("100", 850.0), rate("1500", 1_000.0)];
        let rows = knees(&run, 1);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].check(), rows[0].unit.as_str()), (Ok(()), "connections"));
        // 900 lies a third of the way from 850 to 1,000.
        let knee = 100.0 * 15f64.powf(1.0 / 3.0);
        assert!((rows[0].estimate.unwrap().median - knee).abs() < 1e-6);
        assert!(knees(&run[..2], 1).is_empty());
    }
}
