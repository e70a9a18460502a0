//! Ratio of two times that were measured in turn, with its interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Difference of a ratio from 1 up to which it is no difference, also if only its interval touches that range.
pub const MARGIN: f64 = 0.05;
/// Difference of a ratio from 1 up to which it is no difference in other systems than this one.
pub const MARGIN_INSIDE: f64 = 0.15;
/// Relative half-width from which an interval is too wide to show a difference.
const WIDE: f64 = 0.1;
/// Quantile of Student's t for an interval at 95 %.
const UPPER: f64 = 0.975;

/// oscost's time divided by the plain loop's: the geometric mean over turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Ratio {
    /// The ratio of at least two turns, each with the times by oscost and by the plain loop: the mean of the logarithms of their
    /// ratios, with Student's t for its interval. Influences on both times of a turn, such as the present frequency of the core,
    /// cancel out.
    pub fn of(turns: &[(f64, f64)]) -> Self {
        let logs: Vec<f64> = turns.iter().map(|(oscost, plain)| (oscost / plain).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let degrees = (count - 1.0).max(1.0);
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / degrees;
        let student = StudentsT::new(0.0, 1.0, degrees).expect("one degree of freedom or more");
        let half_width = student.inverse_cdf(UPPER) * (variance / count).sqrt();
        Self { mean: mean.exp(), low: (mean - half_width).exp(), high: (mean + half_width).exp() }
    }

    /// The ratio of times of two groups of turns that need not be the same: Student's t for two samples of the logarithms. Fewer than
    /// three times have no interval. There is at least one of each.
    pub fn of_groups(oscost: &[f64], plain: &[f64]) -> Self {
        let logs = |times: &[f64]| -> (f64, f64) {
            let mean = geometric_mean(times.iter().copied()).ln();
            (mean, times.iter().map(|time| (time.ln() - mean).powi(2)).sum())
        };
        let ((own, own_squares), (other, other_squares)) = (logs(oscost), logs(plain));
        let [own_count, other_count] = [oscost.len() as f64, plain.len() as f64];
        let (degrees, mean) = (own_count + other_count - 2.0, own - other);
        if degrees < 1.0 {
            return Self { mean: mean.exp(), low: 0.0, high: f64::INFINITY };
        }
        let variance = (own_squares + other_squares) / degrees;
        let student = StudentsT::new(0.0, 1.0, degrees).expect("one degree of freedom or more");
        let deviation = (variance * (1.0 / own_count + 1.0 / other_count)).sqrt();
        let half_width = student.inverse_cdf(UPPER) * deviation;
        Self { mean: mean.exp(), low: (mean - half_width).exp(), high: (mean + half_width).exp() }
    }

    /// Whether the interval touches the range within this share around 1.
    pub fn touches(&self, margin: f64) -> bool {
        self.low <= 1.0 + margin && self.high >= 1.0 - margin
    }

    /// Whether 1 lies between this ratio, of quiet samples, and that of the mean of all samples, within the margin: then the
    /// plain loop included some of the disturbances that the mean includes.
    pub fn encloses_one_with(&self, of_all: &Self, margin: f64) -> bool {
        self.low <= 1.0 + margin && of_all.high >= 1.0 - margin
    }

    /// Whether the interval is so wide that it would touch 1 in spite of a difference.
    pub fn is_wide(&self) -> bool {
        self.high > self.mean * (1.0 + WIDE)
    }
}

/// The geometric mean of positive values.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.fold((0.0, 0.0), |(sum, count), value| (sum + value.ln(), count + 1.0));
    f64::exp(sum / count)
}
