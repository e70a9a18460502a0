//! Columns with two times in each cell: a median and a percentile.

use measure::Metric;

use crate::grid::{Cell, Column};
use crate::quantity::half_width;
use crate::swept::levels::{Entry, three_digits};
use crate::swept::{Point, Sweep};
use crate::text;

/// Longest time in the unit of the shorter one; beyond it, the longer time has a separate unit.
const LONGEST: f64 = 10_000.0;

const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];

/// A column with two aligned times per row at a level.
pub fn pairs(sweep: &Sweep, heading: &str, at: usize, metrics: [&Metric; 2]) -> Column {
    let pairs: Vec<Option<[String; 3]>> =
        sweep.rows.iter().map(|row| pair(&row.points[at], metrics)).collect();
    let width = |nth: usize| {
        let all = pairs.iter().flatten();
        all.map(|pair| text::width(&pair[nth])).max().unwrap_or(0)
    };
    let [p50, p99, unit] = [0, 1, 2].map(width);
    let cells = pairs.iter().zip(&sweep.rows).map(|(pair, row)| match pair {
        Some(pair) => {
            Cell::text(format!("{:>p50$} / {:>p99$} {:<unit$}", pair[0], pair[1], pair[2]))
        }
        None => Entry::without_figure(&row.points[at]).into(),
    });
    Column::figures(heading, cells)
}

/// The median, the percentile, and the unit of the percentile, such as `1.1`, `2.3` and `ms`.
fn pair(point: &Point, [p50, p99]: [&Metric; 2]) -> Option<[String; 3]> {
    let (p50, p99) = (point.estimate(p50)?, point.estimate(p99)?);
    let number = |e: results::Estimate, scale: f64| {
        three_digits(e.median / scale, half_width(e.median, e.low, e.high) / scale)
    };
    let unit_of = |ns: f64| UNITS.iter().rfind(|(scale, _)| ns >= *scale).unwrap_or(&UNITS[0]);
    let ((scale, unit), (other_scale, other)) = (unit_of(p50.median), unit_of(p99.median));
    Some(match p99.median / scale < LONGEST {
        true => [number(p50, *scale), number(p99, *scale), (*unit).to_owned()],
        false => [
            format!("{} {unit}", number(p50, *scale)),
            number(p99, *other_scale),
            (*other).to_owned(),
        ],
    })
}
