//! Latencies: median and 99th percentile.

use report::grid::Column;
use report::swept::levels::{self, Block};
use report::swept::pairs::pairs;
use report::swept::{Point, Sweep};

use super::importance::MOST_INFORMATIVE;
use crate::common::ANSWER;
use crate::metrics::{REPLY_P50, REPLY_P99};
use report::page::Page;

/// A table with median and 99th percentile in a cell per level; on a narrow page, for the most informative levels.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    let has = |point: &Point| point.estimate(&REPLY_P50).is_some();
    if !sweep.rows.iter().flat_map(|arch| &arch.points).any(has) {
        return String::new();
    }
    let connecting = if sweep.case == ANSWER { ", including connect" } else { "" };
    let title = format!("time until the reply (p50 / p99){connecting}");
    let layout = |count: usize| {
        let parts = levels::shown_levels(sweep, count, &MOST_INFORMATIVE)
            .into_iter()
            .map(|at| vec![column(sweep, at)]);
        vec![Block::new("connections in flight", parts.collect())]
    };
    levels::titled(sweep, &title, (1..=sweep.levels.len()).rev().map(layout).collect(), page)
}

fn column(sweep: &Sweep, at: usize) -> Column {
    pairs(sweep, &sweep.levels[at].to_string(), at, [&REPLY_P50, &REPLY_P99])
}
