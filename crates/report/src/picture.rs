//! A small picture of a distribution: the times of all samples relative to the estimate.
//!
//! Each character is a step of 5 % of the estimate, on the same scale in all rows of a table, so that rows can be compared. A
//! peak over the second character means that most samples are close to the estimate. A long tail or a second peak to the right is
//! caused by neighbours, interrupts and other modes of the operation.

use results::Distribution;

/// Range of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The range from -5 % to +40 %.
    Full,
    /// The range from -5 % to +30 %, for narrow tables.
    Short,
}

impl Scale {
    fn steps(self) -> usize {
        match self {
            Scale::Full => 10,
            Scale::Short => 8,
        }
    }

    /// Heading of a column of pictures, no wider than the pictures. The legend explains that of short ones.
    pub fn heading(self) -> &'static str {
        match self {
            Scale::Full => "-5 … +40 %",
            Scale::Short => "seen",
        }
    }
}

const STEP: f64 = 0.05;

/// Share of samples below which a step is shown as empty.
const LEAST_SHARE: f64 = 0.005;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The distribution of all samples relative to `estimate`. The ends of the scale include all samples beyond them.
///
/// In Unicode the height of a block is the share of samples, the highest one being full; in ASCII a digit gives the
/// share in tenths, rounded up.
/// Empty if the estimate is not positive, since there is no scale.
pub fn picture(seen: &Distribution, estimate: f64, scale: Scale, unicode: bool) -> String {
    if !(estimate > 0.0 && estimate.is_finite()) {
        return String::new();
    }
    let shares = shares(seen, estimate, scale);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let sign = |share: f64| if unicode { block(share, most) } else { digit(share) };
    shares.into_iter().map(sign).collect()
}

/// The share of samples in each step, assuming an even distribution between neighbouring quantiles.
fn shares(seen: &Distribution, estimate: f64, scale: Scale) -> Vec<f64> {
    let quantiles = [
        (seen.min, seen.p5, 0.05),
        (seen.p5, seen.p25, 0.20),
        (seen.p25, seen.p50, 0.25),
        (seen.p50, seen.p75, 0.25),
        (seen.p75, seen.p95, 0.20),
        (seen.p95, seen.p99, 0.04),
        (seen.p99, seen.p99, 0.01),
    ];
    let mut shares = vec![0.0; scale.steps()];
    for (from, to, share) in quantiles {
        let (from, to) = (position(from, estimate), position(to, estimate));
        for (step, sum) in shares.iter_mut().enumerate() {
            *sum += share * overlap(from, to, step, scale);
        }
    }
    shares
}

/// The position of a sample on the scale: step i reaches from i to i + 1, and the estimate is in the middle of step 1.
fn position(sample: f64, estimate: f64) -> f64 {
    (sample / estimate - 1.0) / STEP + 1.5
}

/// The part of `from..to` that lies in `step`.
fn overlap(from: f64, to: f64, step: usize, scale: Scale) -> f64 {
    let start = if step == 0 { f64::MIN } else { step as f64 };
    let end = if step == scale.steps() - 1 { f64::MAX } else { step as f64 + 1.0 };
    let length = to - from;
    if length > 0.0 {
        (to.min(end) - from.max(start)).max(0.0) / length
    } else {
        f64::from(u8::from(from >= start && from < end))
    }
}

fn block(share: f64, most: f64) -> char {
    if share < LEAST_SHARE {
        return '·';
    }
    let height = (share / most * BLOCKS.len() as f64).round() as usize;
    BLOCKS[height.clamp(1, BLOCKS.len()) - 1]
}

fn digit(share: f64) -> char {
    if share < LEAST_SHARE {
        return '.';
    }
    let tenths = (share * 10.0).ceil() as u8;
    char::from(b'0' + tenths.clamp(1, 9))
}

/// A bar that fills `share` (0 to 1) of `width`, in eighths of a character if the page has such characters.
pub fn bar(share: f64, width: usize, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let length = share * width as f64;
    if !unicode {
        return "#".repeat(length.round() as usize);
    }
    let eighths = (length * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(quantiles: [f64; 7]) -> Distribution {
        let [min, p5, p25, p50, p75, p95, p99] = quantiles;
        Distribution { min, p5, p25, p50, p75, p95, p99, mean: p50 }
    }

    #[test]
    fn different_distributions_give_different_pictures() {
        let tight = seen([164.0, 164.5, 164.8, 164.9, 165.1, 165.9, 167.0]);
        let skewed = seen([164.0, 164.5, 164.9, 168.0, 177.0, 201.0, 240.0]);
        let two_peaks = seen([164.0, 164.5, 164.8, 165.9, 218.0, 221.0, 226.0]);
        let slow_tail = seen([164.0, 164.5, 164.8, 165.0, 165.5, 168.0, 900.0]);
        let seen = [tight, skewed, two_peaks, slow_tail];
        let pictures = seen.map(|s| picture(&s, 164.9, Scale::Full, true));
        assert_eq!(pictures, ["·█········", "·█▃▁▁▁▁▁▁▁", "·█▁▁▁▁▁▁▃·", "·█·······▁"]);
        let short = seen.map(|s| picture(&s, 164.9, Scale::Short, true));
        assert_eq!(short, ["·█······", "·█▃▁▁▁▁▁", "·█▁▁▁▁▁▄", "·█·····▁"]);
    }

    #[test]
    fn ascii_has_the_tenths() {
        let two_peaks = seen([164.0, 164.5, 164.8, 165.9, 218.0, 221.0, 226.0]);
        assert_eq!(picture(&two_peaks, 164.9, Scale::Full, false), ".61111113.");
    }

    #[test]
    fn there_is_no_scale_around_nothing() {
        assert_eq!(picture(&seen([0.0; 7]), 0.0, Scale::Full, true), "");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        let shares = [0.0, 0.27, 0.5, 1.0, f64::NAN];
        assert_eq!(shares.map(|share| bar(share, 4, true)), ["", "█▏", "██", "████", ""]);
        assert_eq!(shares.map(|share| bar(share, 4, false)), ["", "#", "##", "####", ""]);
    }

    proptest! {
        #[test]
        fn every_sample_is_somewhere(mut quantiles: [f64; 7], estimate in 1.0f64..1e6) {
            for q in &mut quantiles {
                *q = q.abs() % (3.0 * estimate);
                if !q.is_finite() { *q = 0.0; }
            }
            quantiles.sort_by(f64::total_cmp);
            for scale in [Scale::Full, Scale::Short] {
                let sum: f64 = shares(&seen(quantiles), estimate, scale).iter().sum();
                prop_assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            }
        }
    }
}
