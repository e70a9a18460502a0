//! The dependence of an operation's time on the core's frequency.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::stats::quantile;

/// The slope of the logarithm of a time over the logarithm of the core's cycle time: 1 for core-bound operations, 0 for
/// those that wait for memory, other cores, devices or timers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The slope's value.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// A round's time and the chain's time during it, in any units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeAndChain {
    /// The round's median time of one operation.
    pub time: f64,
    /// The chain's median time during the round.
    pub chain: f64,
}

/// Minimum relative difference of the frequencies of two rounds that are used for the slope.
const DIFFERENT: f64 = 0.01;
/// Minimum number of pairs that a slope is fitted to, without the pairs of the [`ROUNDS_BESIDE`] rounds that are in most of
/// them: a few rounds at another frequency are in many pairs, but show only their own disturbances.
const PAIRS_AT_LEAST: usize = 10;
const ROUNDS_BESIDE: usize = 3;
/// Maximum half-width of the interval of a slope that is used.
const HALF_WIDTH_AT_MOST: f64 = 0.4;
/// Number of resampled fits for the interval.
const DRAWS: usize = 200;
/// Maximum number of rounds of a point that are used: the number of pairs grows with the square.
const ROUNDS_AT_MOST: usize = 40;

impl Slope {
    /// Fits one slope to the rounds of several points of one case: the median of the slopes between all pairs of rounds of
    /// a point, weighted by the distance of their frequencies (Theil 1950, Sen 1968; weights: Jaeckel 1972). A few rounds
    /// in another steady state do not move it. The interval is a bootstrap over rounds. `None` if the frequency varied too
    /// little, or the interval is too wide.
    pub fn fit(points: &[Vec<TimeAndChain>], seed: u64) -> Option<Self> {
        let logs: Vec<Vec<(f64, f64)>> = points.iter().map(|rounds| logarithms(rounds)).collect();
        let mut rng = StdRng::seed_from_u64(seed);
        if pairs_beside(&logs) < PAIRS_AT_LEAST {
            return None;
        }
        let slope = weighted_median(&mut slopes_of(&logs))?;
        let mut draws: Vec<f64> = (0..DRAWS)
            .filter_map(|_| {
                let resampled: Vec<Vec<(f64, f64)>> =
                    logs.iter().map(|rounds| resample(rounds, &mut rng)).collect();
                weighted_median(&mut slopes_of(&resampled))
            })
            .collect();
        if draws.len() < DRAWS / 2 {
            return None;
        }
        draws.sort_unstable_by(f64::total_cmp);
        let (low, high) = (quantile(&draws, 0.025).min(slope), quantile(&draws, 0.975).max(slope));
        ((high - low) / 2.0 <= HALF_WIDTH_AT_MOST).then_some(Self { slope, low, high })
    }

    /// Whether the slope does not differ significantly from 0, so that the time does not follow the frequency.
    pub fn may_be_zero(&self) -> bool {
        self.low <= 0.0
    }

    /// A time adjusted from the chain's time during the measurement to another chain time.
    pub fn adjust(&self, time: f64, from_chain: f64, to_chain: f64) -> f64 {
        time * (to_chain / from_chain).powf(self.slope)
    }
}

fn logarithms(rounds: &[TimeAndChain]) -> Vec<(f64, f64)> {
    let known = rounds.iter().filter(|round| round.time > 0.0 && round.chain > 0.0);
    known.take(ROUNDS_AT_MOST).map(|round| (round.chain.ln(), round.time.ln())).collect()
}

fn resample(rounds: &[(f64, f64)], rng: &mut StdRng) -> Vec<(f64, f64)> {
    rounds.iter().map(|_| rounds[rng.random_range(0..rounds.len())]).collect()
}

/// The slope between each two rounds of a point, and the distance of their frequencies.
fn slopes_of(points: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut slopes = Vec::new();
    for rounds in points {
        for (nth, &(x, y)) in rounds.iter().enumerate() {
            for &(other_x, other_y) in &rounds[nth + 1..] {
                let run = other_x - x;
                if run.abs() >= DIFFERENT {
                    slopes.push(((other_y - y) / run, run.abs()));
                }
            }
        }
    }
    slopes
}

/// The number of pairs of rounds at different frequencies, without the [`ROUNDS_BESIDE`] rounds that are in most pairs.
fn pairs_beside(points: &[Vec<(f64, f64)>]) -> usize {
    let mut left: Vec<Vec<f64>> =
        points.iter().map(|rounds| rounds.iter().map(|&(x, _)| x).collect()).collect();
    let partners = |rounds: &[f64], x: f64| {
        rounds.iter().filter(|&&other| (other - x).abs() >= DIFFERENT).count()
    };
    for _ in 0..ROUNDS_BESIDE {
        let each = left.iter().enumerate().flat_map(|(point, rounds)| {
            rounds.iter().enumerate().map(move |(nth, &x)| (partners(rounds, x), point, nth))
        });
        if let Some((_, point, nth)) = each.max() {
            left[point].swap_remove(nth);
        }
    }
    let ends = |rounds: &Vec<f64>| rounds.iter().map(|&x| partners(rounds, x)).sum::<usize>();
    left.iter().map(ends).sum::<usize>() / 2
}

/// The weighted median; `None` if there are no values.
fn weighted_median(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    values.iter().find_map(|&(value, weight)| {
        below += weight;
        (below >= half).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds at frequencies that differ by up to `spread`, with times of this slope and relative scatter.
    fn rounds(slope: f64, scatter: f64, spread: f64, seed: u64) -> Vec<TimeAndChain> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..20)
            .map(|_| {
                let chain = 800.0 * (1.0 + spread * rng.random::<f64>());
                let noise = 1.0 + scatter * (rng.random::<f64>() - 0.5);
                TimeAndChain { time: 100.0 * (chain / 800.0).powf(slope) * noise, chain }
            })
            .collect()
    }

    #[test]
    fn the_slope_of_made_up_times_is_found() {
        for slope in [0.0, 0.85, 1.0] {
            // Two points of one case have different cost.
            let mut cheap = rounds(slope, 0.004, 0.1, 1);
            cheap.iter_mut().for_each(|round| round.time /= 7.0);
            let found = Slope::fit(&[rounds(slope, 0.004, 0.1, 2), cheap], 3).unwrap();
            assert!((found.slope - slope).abs() < 0.06, "{slope}: {found:?}");
            assert!(found.low <= slope && slope <= found.high, "{slope}: {found:?}");
            assert_eq!(found.may_be_zero(), slope == 0.0, "{found:?}");
        }
    }

    #[test]
    fn intervals_of_the_slope_cover_it() {
        let covered = (0..200).filter(|&seed| {
            let found = Slope::fit(&[rounds(1.0, 0.02, 0.1, seed)], seed);
            found.is_some_and(|found| found.low <= 1.0 && 1.0 <= found.high)
        });
        let covered = covered.count();
        assert!(covered >= 180, "{covered} of 200");
    }

    #[test]
    fn a_few_rounds_in_another_mode_do_not_move_it() {
        let mut moded = rounds(1.0, 0.002, 0.1, 4);
        moded.iter_mut().step_by(7).for_each(|round| round.time *= 1.06);
        let found = Slope::fit(&[moded], 5).unwrap();
        assert!((found.slope - 1.0).abs() < 0.1, "{found:?}");
    }

    /// All of `clock/gettime` was marked for a slope of 12 from one round, with an interval of width 0.
    #[test]
    fn a_few_rounds_at_another_frequency_show_no_slope() {
        let odd = TimeAndChain { time: 112.0, chain: 808.5 };
        for (count, is_found) in [(1, false), (3, false), (10, true)] {
            let mut steady = rounds(1.0, 0.002, 0.0, 6);
            steady[..count].fill(odd);
            let found = Slope::fit(&[rounds(1.0, 0.002, 0.0, 7), steady], 8);
            assert_eq!(found.is_some(), is_found, "{count} rounds: {found:?}");
        }
    }

    #[test]
    fn a_steady_frequency_gives_no_slope() {
        assert_eq!(Slope::fit(&[rounds(1.0, 0.002, 0.002, 6)], 7), None);
        assert_eq!(Slope::fit(&[rounds(1.0, 1.0, 0.02, 8)], 9), None);
        assert_eq!(Slope::fit(&[], 1), None);
        assert_eq!(Slope::fit(&[Vec::new()], 1), None);
    }

    #[test]
    fn a_time_is_adjusted_by_its_slope() {
        let of = |slope: f64| Slope { slope, low: slope, high: slope };
        assert!((of(1.0).adjust(110.0, 880.0, 800.0) - 100.0).abs() < 1e-9);
        assert_eq!(of(0.0).adjust(110.0, 880.0, 800.0), 110.0);
    }
}
