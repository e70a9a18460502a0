//! The geometric mean of a ratio over several points, with its interval.
//!
//! If the rounds of both sides are adjacent, it is the mean of these points with equal weights. Points share the state of the
//! machine, so that its error is not that of independent points: the run is divided into stretches of time, and the error is that
//! of the mean over all points from stretch to stretch.
//!
//! For separate runs, the points are taken as a sample of the operations of their area, each with its own error (a random-effects
//! model: DerSimonian and Laird 1986, with the interval of Hartung and Knapp 2001). While the ratios agree within their errors,
//! the more precise points have more weight; the more they differ, the more equal the weights are. The interval has two parts:
//!
//! - the spread between the points, so that the mean holds for similar operations and not only for these: points that disagree
//!   have a wide interval;
//! - the error that they may share, because all points share the state of the machine: it is computed as if all points erred in
//!   the same direction at once, which is the maximum.

use measure::stats::t_quantile;
use results::{Direction, LEAST_ROUNDS};
use serde::Serialize;

use crate::change::{Change, Ratio, interval_with};
use crate::held_back::HeldBack;
use crate::judge::is_clear;
use crate::spread::middle_of;
use crate::verdict::Verdict;

/// A ratio over several points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// The geometric mean of the ratios, with its interval.
    pub ratio: Ratio,
    /// Number of points.
    pub points: usize,
    /// Smallest ratio of any point.
    pub least: f64,
    /// Largest ratio of any point.
    pub greatest: f64,
    /// Number of points on the same side of 1 as the mean.
    pub agree: usize,
    /// The significant result.
    pub verdict: Verdict,
}

/// The changes of several points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    points: Vec<PointChange>,
    /// Reasons why other points are left out.
    left_out: Vec<String>,
    /// Whether points are of emulated systems, so that the mean is not judged.
    without_verdict: Option<Verdict>,
}

/// Maximum number of stretches of time into which a run is divided: enough for the error of their mean, and few enough that each
/// has many blocks.
const STRETCHES: usize = 12;

/// The change of one point, as a logarithm.
#[derive(Debug, Clone)]
struct PointChange {
    /// Start of each block of the point's rounds in ms, with the block's difference minus that of the point; empty without
    /// blocks.
    apart: Vec<(i64, f64)>,
    /// Variance that more rounds do not reduce.
    fixed: f64,
    by: f64,
    /// Middle of the point's interval.
    middle: f64,
    error: f64,
    degrees: f64,
    rounds: usize,
    floor: f64,
}

impl Sample {
    /// Adds a point, whose smallest reportable difference is the share `floor`.
    pub(crate) fn add(&mut self, change: &Change, floor: f64, held_back: Option<HeldBack>) {
        let without = held_back.as_ref().and_then(HeldBack::without_verdict);
        self.without_verdict = self.without_verdict.or(without);
        match (held_back.filter(|_| without.is_none()), change.scatter) {
            (None, Some(scatter)) if change.log => self.points.push(PointChange {
                apart: {
                    let apart = change.differences.iter().map(|(at, by)| (*at, by - change.middle));
                    let mut apart: Vec<(i64, f64)> = apart.collect();
                    apart.sort_by_key(|(at, _)| *at);
                    apart
                },
                fixed: scatter.fixed,
                by: change.by,
                middle: change.middle,
                error: scatter.error(),
                degrees: scatter.variance.degrees,
                rounds: change.rounds,
                floor: floor.ln_1p(),
            }),
            (
                Some(
                    HeldBack::Emulated(why)
                    | HeldBack::Apart(why)
                    | HeldBack::EmulatedInPart(why)
                    | HeldBack::Limited { why, .. },
                ),
                _,
            ) => self.left_out.push(why),
            (None, _) => self.left_out.push("a figure has no interval".to_owned()),
        }
    }

    /// Records that a point is left out, with the reason.
    pub(crate) fn leave_out(&mut self, why: String) {
        self.left_out.push(why);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Number of points that are left out.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The most frequent reason why points are left out; `None` if none is.
    pub(crate) fn why_left_out(&self) -> Option<&str> {
        let count = |why: &&String| self.left_out.iter().filter(|other| other == why).count();
        self.left_out.iter().rev().max_by_key(count).map(String::as_str)
    }

    /// The mean, with the interval that misses the true mean with this probability; `None` without points.
    pub(crate) fn mean(
        &self,
        metric: &str,
        better: Direction,
        chance: f64,
        margin: f64,
    ) -> Option<Mean> {
        if self.is_empty() {
            return None;
        }
        let (middle, half, weights) = self.by_stretches(chance).unwrap_or_else(|| {
            let weights = self.weights();
            let middle = average(&weights, self.points.iter().map(|point| point.middle));
            (middle, self.half_width(middle, &weights, chance), weights)
        });
        let by = average(&weights, self.points.iter().map(|point| point.by));
        let floor = average(&weights, self.points.iter().map(|point| point.floor));
        let (low, high) = interval_with(by, middle, half);
        let differs = low > floor || high < -floor;
        let margin = margin.ln_1p();
        let rounds: usize = self.points.iter().map(|point| point.rounds).sum();
        let verdict = match (self.without_verdict, differs) {
            (Some(word), _) => word,
            (None, true) if rounds < LEAST_ROUNDS && !is_clear(rounds, (low, high), true) => {
                Verdict::CannotTell
            }
            (None, true) => Verdict::of_change(metric, better, low > floor),
            (None, false) if low > -margin && high < margin && floor <= margin => Verdict::Same,
            (None, false) => Verdict::CannotTell,
        };
        let ratios = || self.points.iter().map(|point| point.by.exp());
        Some(Mean {
            ratio: Ratio::of_logs(by, (low, high)),
            points: self.points.len(),
            least: ratios().fold(f64::INFINITY, f64::min),
            greatest: ratios().fold(0.0, f64::max),
            agree: self.points.iter().filter(|point| (point.by > 0.0) == (by > 0.0)).count(),
            verdict,
        })
    }

    /// Weight of each point: the inverse of the sum of the variances of its error and of the true ratios.
    fn weights(&self) -> Vec<f64> {
        let variances: Vec<f64> = self.points.iter().map(PointChange::variance).collect();
        let inverse: Vec<f64> = variances.iter().map(|variance| 1.0 / variance).collect();
        let mean = average(&inverse, self.points.iter().map(|point| point.middle));
        let squares = self.points.iter().zip(&inverse);
        let squares: f64 =
            squares.map(|(point, weight)| weight * (point.middle - mean).powi(2)).sum();
        let sum: f64 = inverse.iter().sum();
        let sum_of_squares: f64 = inverse.iter().map(|weight| weight.powi(2)).sum();
        let scale = sum - sum_of_squares / sum;
        let expected = self.points.len() as f64 - 1.0;
        let between = if scale > 0.0 { ((squares - expected) / scale).max(0.0) } else { 0.0 };
        variances.iter().map(|variance| 1.0 / (variance + between)).collect()
    }

    /// Half-width of the interval of the mean logarithm.
    fn half_width(&self, mean: f64, weights: &[f64], chance: f64) -> f64 {
        let others = self.points.len() as f64 - 1.0;
        let (shared, shared_degrees) = self.greatest_error(weights);
        let between = match self.points.len() {
            1 => 0.0,
            _ => average(weights, self.points.iter().map(|p| (p.middle - mean).powi(2))) / others,
        };
        let variance = shared + between;
        if variance == 0.0 {
            return 0.0;
        }
        // Degrees of freedom of a sum of variances (Satterthwaite 1946).
        let below = shared.powi(2) / shared_degrees + between.powi(2) / others.max(1.0);
        let degrees = variance.powi(2) / below;
        t_quantile(1.0 - chance / 2.0, degrees) * variance.sqrt()
    }

    /// The square of the largest error of the mean that all points can share, with its degrees of freedom.
    fn greatest_error(&self, weights: &[f64]) -> (f64, f64) {
        let shared = average(weights, self.points.iter().map(|point| point.error)).powi(2);
        // Degrees of freedom of a weighted sum of errors that are each estimated.
        let squares = average(weights, self.points.iter().map(|point| point.error.powi(2)));
        let by_degrees =
            average(weights, self.points.iter().map(|point| point.error.powi(2) / point.degrees));
        (shared, if by_degrees > 0.0 { squares / by_degrees } else { f64::INFINITY })
    }

    /// The mean over the rounds of points with adjacent rounds, the half-width of its interval, and the weights; `None` if a point has too few
    /// such rounds.
    fn by_stretches(&self, chance: f64) -> Option<(f64, f64, Vec<f64>)> {
        let fewest = self.points.iter().map(|point| point.apart.len()).min()?;
        let stretches = fewest.min(STRETCHES);
        if stretches < LEAST_ROUNDS {
            return None;
        }
        let weights = vec![1.0; self.points.len()];
        // Each stretch has an equal part of each point's blocks, in the order of time.
        let part = |point: &PointChange, stretch: usize| {
            let ends = [stretch, stretch + 1].map(|end| end * point.apart.len() / stretches);
            let blocks = &point.apart[ends[0]..ends[1]];
            blocks.iter().map(|(_, apart)| apart).sum::<f64>() / blocks.len() as f64
        };
        let means: Vec<f64> = (0..stretches)
            .map(|stretch| average(&weights, self.points.iter().map(|point| part(point, stretch))))
            .collect();
        let error = middle_of(&means)?;
        let half = t_quantile(1.0 - chance / 2.0, error.degrees)
            * (error.variance / error.count + self.fixed_variance()).sqrt();
        let middle = average(&weights, self.points.iter().map(|point| point.middle));
        Some((middle, half, weights))
    }

    /// Variance of the mean that no number of rounds reduces. Its causes affect all points, so that their errors add up.
    fn fixed_variance(&self) -> f64 {
        let errors = self.points.iter().map(|point| point.fixed.sqrt());
        (errors.sum::<f64>() / self.points.len() as f64).powi(2)
    }
}

impl PointChange {
    /// Variance of the point's error for the weights. An error estimated from few rounds may be small by chance, so that the
    /// variance of Student's t is used, and half of the floor is added: no point is more precise than the machine.
    fn variance(&self) -> f64 {
        let few = self.degrees / (self.degrees - 2.0).max(0.5);
        self.error.powi(2) * few + (self.floor / 2.0).powi(2)
    }
}

fn average(weights: &[f64], values: impl Iterator<Item = f64>) -> f64 {
    let sum: f64 = weights.iter().sum();
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>() / sum
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::change::Sides;
    use simulated::{document, noise, rounds_of};

    /// A sample of points with these true logarithms of ratios. Their rounds differ by `own`, and by a disturbance of each round
    /// that all points share.
    fn sample(truths: &[f64], shared: f64, own: f64, rng: &mut StdRng) -> Sample {
        sample_of(truths, shared, own, false, rng)
    }

    /// A sample like that of [`sample`], with rounds that are known to be adjacent.
    fn in_blocks(truths: &[f64], shared: f64, own: f64, rng: &mut StdRng) -> Sample {
        sample_of(truths, shared, own, true, rng)
    }

    fn sample_of(
        truths: &[f64],
        shared: f64,
        own: f64,
        has_starts: bool,
        rng: &mut StdRng,
    ) -> Sample {
        let mut side = |factor: &dyn Fn(f64) -> f64| {
            let of_round: Vec<f64> = (0..8).map(|_| shared * noise(rng)).collect();
            let results = truths.iter().enumerate().map(|(at, truth)| {
                let rounds = of_round
                    .iter()
                    .map(|of| 100.0 * (factor(*truth) + of + own * noise(rng)).exp());
                rounds_of(&*format!("a/c{at}"), &rounds.collect::<Vec<_>>())
            });
            results.collect()
        };
        let mut base = document("base", side(&|_| 0.0));
        let mut new = document("new", side(&|truth| truth));
        if has_starts {
            for (later, run) in [&mut base, &mut new].into_iter().enumerate() {
                for (at, result) in run.results.iter_mut().enumerate() {
                    let first = (100 * at + 40 * later) as i64;
                    let starts = (0..result.round_values.len()).map(|n| first + 10_000 * n as i64);
                    result.round_starts_ms = starts.collect();
                }
            }
        }
        let sides = Sides::of(&base, &new, false);
        let mut sample = Sample::default();
        for (base, new) in base.results.iter().zip(&new.results) {
            sample.add(&sides.change(base, new).unwrap(), 0.01, None);
        }
        sample
    }

    type Simulated = fn(&[f64], f64, f64, &mut StdRng) -> Sample;

    fn mean(sample: &Sample) -> Mean {
        sample.mean("time", Direction::Lower, 0.05, 0.02).unwrap()
    }

    const TRIALS: usize = 400;

    /// The share of the trials whose interval does not cover the logarithm `truth`.
    fn share_missed(truth: f64, mut interval: impl FnMut() -> Ratio) -> f64 {
        let missed = (0..TRIALS).filter(|_| {
            let Ratio { low, high, .. } = interval();
            !(low.ln() <= truth && truth <= high.ln())
        });
        missed.count() as f64 / TRIALS as f64
    }

    #[test]
    fn intervals_cover_the_true_mean_also_if_all_points_err_together() {
        let mut rng = StdRng::seed_from_u64(31);
        for (points, shared, own) in
            [(1, 0.0, 0.02), (3, 0.03, 0.0), (3, 0.0, 0.02), (20, 0.03, 0.01)]
        {
            let truths: Vec<f64> = vec![0.3; points];
            for (name, sample) in [("apart", sample as Simulated), ("in blocks", in_blocks)] {
                let mut widths = 0.0;
                let share = share_missed(0.3, || {
                    let ratio = mean(&sample(&truths, shared, own, &mut rng)).ratio;
                    widths += (ratio.high / ratio.low).ln();
                    ratio
                });
                let width = widths / TRIALS as f64;
                println!("{points} points {name}, shared {shared}, own {own}: {share}, {width:.3}");
                // The limit is 5 % and three standard errors of the simulation.
                assert!(share <= 0.05 + 3.0 * 0.011, "{points} {shared} {own}: {share}");
            }
        }
    }

    #[test]
    fn imprecise_points_do_not_hide_what_precise_ones_agree_in() {
        let mut rng = StdRng::seed_from_u64(34);
        let mut precise = sample(&[0.3; 4], 0.0, 0.003, &mut rng);
        precise.points.extend(sample(&[0.3; 8], 0.0, 0.3, &mut rng).points);
        let found = mean(&precise);
        assert_eq!(found.verdict, Verdict::Slower);
        assert!(found.ratio.low > 1.32 && found.ratio.high < 1.38, "{found:?}");
    }

    #[test]
    fn intervals_cover_the_true_mean_of_points_of_different_precision() {
        let mut rng = StdRng::seed_from_u64(35);
        let share = share_missed(0.3, || {
            // A disturbance affects half of the points.
            let mut all = sample(&[0.3; 6], 0.0, 0.005, &mut rng);
            all.points.extend(sample(&[0.3; 6], 0.1, 0.01, &mut rng).points);
            mean(&all).ratio
        });
        println!("different precision: {share}");
        assert!(share <= 0.05 + 3.0 * 0.011, "{share}");
    }

    #[test]
    fn intervals_cover_the_mean_of_the_operations_that_the_points_are_a_sample_of() {
        let mut rng = StdRng::seed_from_u64(32);
        let share = share_missed(0.5, || {
            let truths: Vec<f64> = (0..6).map(|_| 0.5 + 0.3 * noise(&mut rng)).collect();
            mean(&sample(&truths, 0.01, 0.01, &mut rng)).ratio
        });
        assert!(share <= 0.05 + 3.0 * 0.011, "{share}");
    }

    #[test]
    fn points_that_disagree_have_no_winner_and_points_that_agree_have() {
        let mut rng = StdRng::seed_from_u64(33);
        let apart = mean(&sample(&[-0.7, 0.75, -0.72, 0.78], 0.0, 0.005, &mut rng));
        assert_eq!(apart.verdict, Verdict::CannotTell);
        assert!(apart.least < 0.55 && apart.greatest > 1.9, "{apart:?}");
        let agreed = mean(&sample(&[0.69, 0.72, 0.70, 0.71], 0.0, 0.005, &mut rng));
        assert_eq!((agreed.verdict, agreed.points), (Verdict::Slower, 4));
        assert!(agreed.ratio.low > 1.9 && agreed.ratio.high < 2.15, "{agreed:?}");
        let equal = mean(&sample(&[0.0; 4], 0.0, 0.002, &mut rng));
        assert_eq!(equal.verdict, Verdict::Same);
    }
}
