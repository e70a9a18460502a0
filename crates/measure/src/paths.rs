//! Two steady levels of one operation, such as those of a sandbox whose kernel is asked by a fast or by a slow path.

use crate::stats::median;

crate::metrics! {
    /// The two levels of an operation in a system where its time has two.
    pub const PATHS: [
        FAST_PATH = neutral("fast-path", "ns/op"), "the time of an operation by the faster of two paths, where its time has two levels";
        SLOW_PATH = neutral("slow-path", "ns/op"), "the time of an operation by the slower of two paths, likewise";
        SLOW_SHARE = neutral("slow-share", "share"), "the part of the measuring time in which the slower path was taken, likewise";
    ]
}

/// The least factor between the medians of two levels.
const APART: f64 = 1.5;
/// The least share of the samples at each level.
const LEAST_SHARE: f64 = 0.05;
/// The largest share of the samples between two levels, as a part of the smaller level's.
const BETWEEN: f64 = 0.2;

/// Two levels of an operation's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoPaths {
    /// Median of the faster samples.
    pub fast: f64,
    /// Median of the slower samples.
    pub slow: f64,
    /// The share of the slower samples.
    pub slow_share: f64,
}

impl TwoPaths {
    /// The time that separates the levels: their geometric mean.
    pub fn threshold(&self) -> f64 {
        (self.fast * self.slow).sqrt()
    }

    /// The two levels of these positive samples, which are split where the variance of their logarithms within both parts is the
    /// least (N. Otsu's threshold, 1979). `None` if a part is small, they are close together, or much lies between them.
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_unstable_by(f64::total_cmp);
        let logs: Vec<f64> = samples.iter().map(|sample| sample.ln()).collect();
        let (count, total) = (logs.len() as f64, logs.iter().sum::<f64>());
        let (mut best, mut sum) = ((0.0, 0), 0.0);
        for (at, log) in logs.iter().enumerate().take(logs.len().saturating_sub(1)) {
            sum += log;
            let below = (at + 1) as f64;
            let apart = sum / below - (total - sum) / (count - below);
            let between = below * (count - below) * apart * apart;
            if between > best.0 {
                best = (between, at + 1);
            }
        }
        let (fast, slow) = samples.split_at(best.1);
        let slow_share = slow.len() as f64 / count;
        let smaller = slow_share.min(1.0 - slow_share);
        if fast.is_empty() || slow.is_empty() || smaller < LEAST_SHARE {
            return None;
        }
        let [fast, slow] = [fast, slow].map(|part| median(&mut part.to_vec()));
        // The middle third between the levels, on the logarithmic scale.
        let third = (slow / fast).powf(1.0 / 3.0);
        let is_between = |sample: &&f64| **sample > fast * third && **sample < slow / third;
        let between = samples.iter().filter(is_between).count() as f64 / count;
        (slow >= fast * APART && between <= smaller * BETWEEN).then_some(Self {
            fast,
            slow,
            slow_share,
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Samples around some levels, with these numbers, and a scatter of five per cent.
    fn samples(levels: &[(f64, usize)]) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(7);
        let mut scattered = |level: f64| level * (1.0 + rng.random_range(-0.05..0.05));
        levels
            .iter()
            .flat_map(|&(level, count)| std::iter::repeat_n(level, count))
            .map(&mut scattered)
            .collect()
    }

    #[test]
    fn two_levels_are_found_with_their_shares() {
        for (slow, all) in [(60, 600), (300, 600), (500, 600)] {
            let found = TwoPaths::of(samples(&[(3_000.0, all - slow), (17_000.0, slow)])).unwrap();
            assert!((found.fast / 3_000.0 - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.slow / 17_000.0 - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.slow_share - slow as f64 / all as f64).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn one_level_a_few_outliers_or_a_slope_are_not_two() {
        assert_eq!(TwoPaths::of(samples(&[(3_000.0, 600)])), None);
        assert_eq!(TwoPaths::of(samples(&[(3_000.0, 590), (17_000.0, 10)])), None);
        assert_eq!(TwoPaths::of(samples(&[(3_000.0, 300), (3_900.0, 300)])), None);
        assert_eq!(TwoPaths::of((0..600).map(|n| 3_000.0 * 1.003_f64.powi(n)).collect()), None);
        assert_eq!(TwoPaths::of(vec![]), None);
        assert_eq!(TwoPaths::of(vec![5.0]), None);
        assert_eq!(TwoPaths::of(vec![5.0; 9]), None);
    }
}
