//! Ratio of two averages, with its interval.

use results::CaseResult;

use crate::change::{Ratio, ratio_in_blocks};
use crate::resample::Bootstrap;

/// The figure of `of` divided by that of `to`, both of one run: by adjacent rounds, or by a bootstrap of both if the start times
/// of the rounds are unknown.
///
/// `None` if one has no rounds, or too few for an interval, or the ratio is not above zero.
pub fn ratio(of: &CaseResult, to: &CaseResult, seed: u64) -> Option<Ratio> {
    if !(of.has_interval() && to.has_interval()) {
        return None;
    }
    let by_rounds = || multiple(&[&of.round_values], &[&to.round_values], seed);
    let has_interval = |ratio: &Ratio| ratio.low.is_finite() && ratio.high.is_finite();
    ratio_in_blocks(of, to).or_else(by_rounds).filter(has_interval)
}

/// The mean of the medians of `a` divided by that of `b`. Each series has the rounds' values at one level at which both
/// were measured. The interval comes from a bootstrap over rounds.
///
/// `None` if there is no level, a series is empty, or a mean is not above zero.
pub fn multiple(a: &[&[f64]], b: &[&[f64]], seed: u64) -> Option<Ratio> {
    let series: Vec<&[f64]> = a.iter().chain(b).copied().collect();
    if a.is_empty() || b.is_empty() || series.iter().any(|values| values.is_empty()) {
        return None;
    }
    let ratio = |medians: &Vec<f64>| {
        let (of_a, of_b) = medians.split_at(a.len());
        let ratio = mean(of_a) / mean(of_b);
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    };
    let at = Bootstrap::of(&series, seed).map(ratio)?.interval(|ratio| *ratio);
    Some(Ratio { mid: at.median, low: at.low, high: at.high })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use measure::stats::LEVEL;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use simulated::{noise, outlier};

    #[test]
    fn means_over_the_places_are_divided() {
        let ratio = multiple(&[&[10.0; 3], &[50.0; 3]], &[&[10.0; 3], &[20.0; 3]], 1).unwrap();
        assert_eq!(ratio, Ratio { mid: 2.0, low: 2.0, high: 2.0 });
    }

    #[test]
    fn nothing_is_no_multiple_of_nothing() {
        assert_eq!(multiple(&[], &[], 1), None);
        assert_eq!(multiple(&[&[1.0]], &[&[0.0]], 1), None);
        assert_eq!(multiple(&[&[1.0]], &[&[]], 1), None);
        assert_eq!(multiple(&[&[f64::NAN]], &[&[1.0]], 1), None);
    }

    #[test]
    fn intervals_cover_the_true_multiple() {
        const TRIALS: u64 = 200;
        let mut rng = StdRng::seed_from_u64(4);
        let (fast, slow) = ([20e3, 50e3, 40e3], [6e3, 7e3, 5e3]);
        let truth = mean(&fast) / mean(&slow);
        let covered = (0..TRIALS).filter(|&trial| {
            let mut draw = |rate: &f64| -> Vec<f64> {
                (0..6).map(|_| rate * (1.0 + 0.02 * noise(&mut rng)) / outlier(&mut rng)).collect()
            };
            let [fast, slow] =
                [fast, slow].map(|rates| rates.iter().map(&mut draw).collect::<Vec<_>>());
            let [fast, slow] =
                [&fast, &slow].map(|all| all.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let ratio = multiple(&fast, &slow, trial).unwrap();
            ratio.low <= truth && truth <= ratio.high
        });
        let share = covered.count() as f64 / TRIALS as f64;
        println!("{:.1} %", share * 100.0);
        // Disturbed rounds are slower, never faster: medians of six lie a little low, on both sides alike.
        assert!(share >= LEVEL - 0.031, "{share}");
    }
}
