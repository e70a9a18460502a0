//! Ratios in charts and tables of a comparison.

use analysis::{Ratio, Verdict};

use crate::compare_table::bound;
use crate::html::chart::Bar;

/// Number of decimals of a ratio.
pub(super) const PLACES: usize = 3;

/// Class of a verdict's cell.
pub(super) fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        verdict if verdict.is_loss() => "verdict bad",
        Verdict::Faster | Verdict::Better => "verdict good",
        _ => "verdict",
    }
}

/// The interval of a ratio: `1.052 to 1.091`.
pub(super) fn interval(ratio: Ratio) -> String {
    format!("{:.3} to {}", ratio.low, bound(ratio.high, PLACES))
}

/// A ratio of a column in a row of a chart.
pub(super) struct RatioBar<'a> {
    pub column: &'a str,
    pub ratio: Ratio,
    pub verdict: Verdict,
    pub floor: f64,
}

/// Bars of the ratios of each row, one for each of `columns` columns.
pub(super) fn ratio_bars<'a>(
    rows: impl Iterator<Item = (String, Vec<RatioBar<'a>>)>,
    columns: usize,
) -> Vec<Bar> {
    let of_row = |(name, bars): (String, Vec<RatioBar<'a>>)| {
        let bar = move |(nth, bar): (usize, RatioBar)| {
            let Ratio { mid, low, high } = bar.ratio;
            Bar {
                heading: (columns > 1 && nth == 0).then(|| name.clone()),
                label: if columns > 1 { bar.column.to_owned() } else { name.clone() },
                look: match bar.verdict {
                    verdict if verdict.is_loss() => 1,
                    verdict if verdict.is_difference() => 0,
                    _ => 7,
                },
                value: mid,
                low,
                high,
                figure: format!("{mid:.3}"),
                interval: interval(bar.ratio),
                remark: bar.verdict.word().to_owned(),
                floor: bar.floor,
                ..Bar::default()
            }
        };
        bars.into_iter().enumerate().map(bar).collect::<Vec<Bar>>()
    };
    rows.flat_map(of_row)
        .filter(|bar| [bar.value, bar.low].iter().all(|v| v.is_finite() && *v > 0.0))
        .collect()
}
