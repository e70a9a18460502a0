//! Latencies of the replies to a sender, by phase.

use super::levels::shown_levels;
use crate::metrics::{
    EHLO_P50, EHLO_P99, GREETING_P50, GREETING_P99, QUIT_P50, QUIT_P99, RSET_P50, RSET_P99,
};
use measure::Metric;
use report::grid::Column;
use report::page::Page;
use report::swept::Sweep;
use report::swept::levels::{self, Block};
use report::swept::pairs::pairs;

/// Phases of a session: name, and metrics of the median and of the 99th percentile.
const PHASES: [(&str, &Metric, &Metric); 4] = [
    ("greeting", &GREETING_P50, &GREETING_P99),
    ("EHLO", &EHLO_P50, &EHLO_P99),
    ("transaction", &RSET_P50, &RSET_P99),
    ("with QUIT", &QUIT_P50, &QUIT_P99),
];

/// A table of the median and the 99th percentile of each phase, for the most informative levels.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    let at = shown_levels(sweep, sweep.levels.len());
    let blocks: Vec<Block> = at.iter().filter_map(|at| of_level(sweep, *at)).collect();
    if blocks.is_empty() {
        return String::new();
    }
    levels::titled(sweep, "time until the reply (p50 / p99)", vec![blocks], page)
}

/// Columns of a level, which stay together.
fn of_level(sweep: &Sweep, at: usize) -> Option<Block> {
    let column = |(name, p50, p99): &(&str, &Metric, &Metric)| -> Option<Column> {
        let has = sweep.rows.iter().any(|arch| arch.points[at].estimate(p50).is_some());
        has.then(|| pairs(sweep, name, at, [p50, p99]))
    };
    let columns: Vec<Column> = PHASES.iter().filter_map(column).collect();
    let heading = match sweep.levels[at] {
        1 => "1 connection".to_owned(),
        level => format!("{level} connections"),
    };
    (!columns.is_empty()).then(|| Block::new(&heading, vec![columns]))
}
