//! The ratio of two times that were measured in turn, with its interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A ratio within this share of 1, or whose interval touches that range, is no difference.
pub const MARGIN: f64 = 0.05;
/// An interval that reaches further than this from its ratio shows hardly any difference.
const WIDE: f64 = 0.1;
/// The quantile of an interval that contains the ratio in 95 % of cases.
const UPPER: f64 = 0.975;

/// oscost's time by the plain loop's: the geometric mean over turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub mean: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// Of at least two turns, each with the time by oscost and that by the plain loop: the mean of the logarithms of their
    /// ratios, with Student's t for its interval. What both times of a turn share, such as the present frequency of the
    /// core, cancels.
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

    /// Whether the interval touches the range within this share around 1.
    pub fn touches(&self, margin: f64) -> bool {
        self.low <= 1.0 + margin && self.high >= 1.0 - margin
    }

    /// Whether it does so within the usual margin.
    pub fn touches_one(&self) -> bool {
        self.touches(MARGIN)
    }

    /// Whether 1 lies between this ratio, of quiet samples, and that of the mean of all samples, within the margin: then the plain
    /// loop had a part of the disturbances that the mean has.
    pub fn encloses_one_with(&self, of_all: &Self) -> bool {
        self.low <= 1.0 + MARGIN && of_all.high >= 1.0 - MARGIN
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
