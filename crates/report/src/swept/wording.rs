//! Remarks below the tables.

use results::CaseResult;

use crate::page::{Ink, Page};
use crate::swept::Sweep;

/// Lines below the tables of an area: the meaning of the digits, and the command for all metrics.
pub fn what_digits_mean(results: &[&CaseResult], area: &str, page: &Page) -> String {
    let level = results.iter().find_map(|result| result.estimate).map(|e| e.level * 100.0);
    let Some(level) = level else { return String::new() };
    let lines = [
        format!(
            "digits: as many as the {level:.0} % interval justifies, at most three; ±: half its width"
        ),
        format!("all metrics of the area {area}: --json, --csv and --xlsx"),
    ];
    lines.iter().map(|line| page.faint(line)).collect()
}

/// A line with missing points: rows that this system does not support, and points outside this run.
pub fn missing(sweep: &Sweep, page: &Page) -> String {
    let mut text = String::new();
    if !sweep.missing.is_empty() {
        let shown =
            sweep.missing.iter().map(|(why, archs)| format!("{} ({why})", archs.join(", ")));
        let shown = shown.collect::<Vec<_>>().join("; ");
        let line = page.hanging("unsupported here: ", &shown);
        text.push_str(&page.paint_lines(Ink::Faint, &line));
    }
    if sweep.has_gaps() {
        let line = format!("-: not in this run; `oscost run {} --full` measures all", sweep.case);
        text.push_str(&page.faint(&line));
    }
    text
}
