//! A series as a line of blocks.

use analysis::history::Trend;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Range of a picture at least, as a share of its middle: the noise of a steady figure stays flat.
const LEAST_RANGE: f64 = 0.02;

/// The means of the visits in `width` equal parts, from the lowest to the highest; a digit from 0 to 9 each in ASCII.
pub(super) fn sparkline(trend: &Trend, width: usize, unicode: bool) -> String {
    let figures: Vec<f64> = trend.visits.iter().map(|visit| visit.figure.median).collect();
    let parts = width.min(figures.len());
    let means: Vec<f64> = (0..parts)
        .map(|part| {
            let (from, to) = (part * figures.len() / parts, (part + 1) * figures.len() / parts);
            figures[from..to].iter().sum::<f64>() / (to - from) as f64
        })
        .collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = (least + most) / 2.0;
    let range = (most - least).max(middle.abs() * LEAST_RANGE).max(f64::MIN_POSITIVE);
    let place = |mean: f64| (mean - middle) / range + 0.5;
    let sign = |mean: &f64| match unicode {
        true => BLOCKS[((place(*mean) * 8.0) as usize).min(7)],
        false => char::from_digit(((place(*mean) * 10.0) as u32).min(9), 10).unwrap_or('?'),
    };
    means.iter().map(sign).collect()
}
