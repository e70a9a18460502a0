//! The table of a sweep of a sender over numbers of connections.

use serde::Serialize;

use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::figure;

/// Results with one number of connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SweepLine {
    /// Maximum number of connections.
    pub connections: usize,
    /// Recipients accepted per second, in each pass.
    #[serde(rename = "recipients_per_s")]
    pub rates: Vec<f64>,
    /// Maximum number of connections open at once, in any pass.
    #[serde(rename = "open_at_most")]
    pub open: usize,
    /// Recipients that were rejected or not reached.
    #[serde(rename = "not_accepted")]
    pub lost: u64,
}

impl SweepLine {
    /// Least, median and greatest rate; `None` if there are no rates.
    fn spread(&self) -> Option<[f64; 3]> {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        let middle = (rates.get(rates.len().saturating_sub(1) / 2)? + rates[rates.len() / 2]) / 2.0;
        Some([rates[0], middle, rates[rates.len() - 1]])
    }
}

/// A table with a line for each number of connections: the median rate of the passes, and the least and greatest rate.
pub fn sweep_table(lines: &[SweepLine], page: &Page) -> String {
    let shown = |line: &SweepLine, nth: usize| match line.spread() {
        Some(spread) => Cell::figure(figure(spread[nth], (spread[2] - spread[0]) / 2.0, "")),
        None => Cell::text("-"),
    };
    let rate =
        |heading: &str, nth| Column::figures(heading, lines.iter().map(|line| shown(line, nth)));
    let count = |heading: &str, of: fn(&SweepLine) -> u64| {
        let cells = lines.iter().map(|line| Cell::figure(figure(of(line) as f64, 0.0, "")));
        Column::figures(heading, cells)
    };
    let lost = lines.iter().map(|line| match line.lost {
        0 => Cell::text("0"),
        lost => Cell::inked(lost.to_string(), Ink::Bad),
    });
    let columns = vec![
        count("connec-\ntions", |line| line.connections as u64),
        rate("recipients\n/s", 1),
        rate("least", 0),
        rate("most", 2),
        count("open at\nonce", |line| line.open as u64),
        Column::figures("not\naccepted", lost),
    ];
    grid::table(columns, page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_median_between_least_and_most() {
        let page = Page { width: 80, colour: false, unicode: false, this_run: false };
        let line =
            |rates: &[f64]| SweepLine { connections: 10, rates: rates.to_vec(), open: 9, lost: 0 };
        assert_eq!(line(&[3.0, 1.0, 8.0]).spread(), Some([1.0, 3.0, 8.0]));
        assert_eq!(line(&[3.0, 1.0]).spread(), Some([1.0, 2.0, 3.0]));
        let text = sweep_table(&[line(&[1_000.0, 1_200.0, 1_100.0]), line(&[])], &page);
        assert!(text.contains("1,100") && text.contains('-'), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
