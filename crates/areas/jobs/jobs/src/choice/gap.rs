//! The difference between each candidate and the best one, with its interval.
//!
//! A trial on a shared machine occasionally takes a third longer for external reasons. Values further than five robust
//! standard deviations from their median are left out, and Welch's t interval is taken of the logarithms of the rest. In
//! simulations (85 % of values within a normal 0.5 %, 15 % up to 40 % longer, six candidates) this detects a difference of
//! 3 % in 73, 85 and 91 % of cases with 6, 8 and 10 rounds; Yuen's trimmed means in 31 to 57 %, medians with a bootstrap
//! in 4 %, and signed ranks in none with 6 rounds.

use measure::stats::{LEVEL, median, t_quantile};

use analysis::Settings;
use analysis::welch;
use analysis::{FLOOR_AT_LEAST, Ratio};

/// Distance from the median beyond which values are outliers and left out, in robust standard deviations.
const FAR_OUT: f64 = 5.0;
/// Minimum number of values in which an outlier can be identified.
const FEWEST_TO_JUDGE: usize = 5;
/// Ratio of the lengths of intervals below which rounds are compared in pairs, because a disturbance of a round then affects all
/// its candidates. The median over all candidates decides.
const WORTH_PAIRING: f64 = 0.6;

/// Difference between a candidate and the best one, in logarithms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    log_ratio: f64,
    /// Half-width of the interval.
    half: f64,
    rounds: usize,
}

impl Gap {
    /// The ratio to the best one.
    pub(super) fn ratio(&self) -> Ratio {
        Ratio::of_log(self.log_ratio, self.half)
    }

    /// Whether the candidate is significantly above the best one by more than `share`.
    pub(super) fn certainly_above(&self, share: f64) -> bool {
        self.log_ratio - self.half > share.ln_1p()
    }

    /// Whether the candidate is significantly above the best one by less than `share`.
    pub(super) fn certainly_below(&self, share: f64) -> bool {
        self.log_ratio + self.half < share.ln_1p()
    }

    /// Upper end of [`Gap::ratio`] minus 1.
    pub(super) fn at_most(&self) -> f64 {
        (self.log_ratio + self.half).exp_m1()
    }

    /// Number of rounds that would decide whether the gap lies above the floor or within the margin.
    pub(super) fn rounds_to_settle(&self) -> f64 {
        let (floor, margin) = (FLOOR_AT_LEAST.ln_1p(), Settings::default().margin.ln_1p());
        let room = (self.log_ratio - floor).max(margin - self.log_ratio);
        // The width of an interval is proportional to the inverse root of the number of rounds.
        (self.rounds as f64 * (self.half / room).powi(2)).ceil()
    }
}

/// Gaps of all other candidates to the first, with simultaneous intervals; `None` for too few rounds.
pub(super) fn gaps(values: &[Vec<f64>]) -> Vec<Option<Gap>> {
    let logs: Vec<Vec<f64>> =
        values.iter().map(|rounds| rounds.iter().map(|value| value.ln()).collect()).collect();
    let Some((best, others)) = logs.split_first() else { return Vec::new() };
    let chance = (1.0 - LEVEL) / others.len().max(1) as f64;
    let gap = |log_ratio: f64, (error, degrees): (f64, f64), rounds: usize| Gap {
        log_ratio,
        half: t_quantile(1.0 - chance / 2.0, degrees) * error,
        rounds,
    };
    let apart = |other: &Vec<f64>| {
        let (a, b) = (Center::of(other)?, Center::of(best)?);
        let error = welch((a.error, a.degrees), (b.error, b.degrees));
        Some(gap(a.mean - b.mean, error, other.len().min(best.len())))
    };
    let paired = |other: &Vec<f64>| {
        if other.len() != best.len() {
            return None;
        }
        let differences: Vec<f64> = other.iter().zip(best).map(|(a, b)| a - b).collect();
        let center = Center::of(&differences)?;
        Some(gap(center.mean, (center.error, center.degrees), best.len()))
    };
    let (apart, paired): (Vec<Option<Gap>>, Vec<Option<Gap>>) =
        others.iter().map(|other| (apart(other), paired(other))).unzip();
    let shrinks = |(apart, paired): (&Option<Gap>, &Option<Gap>)| {
        let (apart, paired) = ((*apart)?.half, (*paired)?.half);
        (apart > 0.0).then(|| paired / apart)
    };
    let mut shrinks: Vec<f64> = apart.iter().zip(&paired).filter_map(shrinks).collect();
    if shrinks.is_empty() || median(&mut shrinks) > WORTH_PAIRING {
        return apart;
    }
    paired.into_iter().zip(apart).map(|(paired, apart)| paired.or(apart)).collect()
}

/// The mean of logarithms without outliers.
struct Center {
    mean: f64,
    /// Standard error of the mean.
    error: f64,
    degrees: f64,
}

impl Center {
    /// The mean and its error; `None` for fewer than two values, or values that are not finite.
    fn of(logs: &[f64]) -> Option<Self> {
        if logs.len() < 2 || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let limit = far_out(logs);
        let middle = median(&mut logs.to_vec());
        let kept: Vec<f64> =
            logs.iter().copied().filter(|log| (log - middle).abs() <= limit).collect();
        let count = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / count;
        let variance = kept.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self { mean, error: (variance / count).sqrt(), degrees: count - 1.0 })
    }
}

/// The greatest distance from the median of a value that is no outlier: by the median absolute deviation, made consistent with
/// the normal distribution's standard deviation, also for few values (Croux and Rousseeuw 1992, "Time-efficient algorithms for
/// two highly robust estimators of scale": 1.4826 n / (n - 0.8)).
fn far_out(values: &[f64]) -> f64 {
    let middle = median(&mut values.to_vec());
    let deviation =
        median(&mut values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>());
    if values.len() < FEWEST_TO_JUDGE || deviation == 0.0 {
        return f64::INFINITY;
    }
    let count = values.len() as f64;
    FAR_OUT * 1.4826 * count / (count - 0.8) * deviation
}
