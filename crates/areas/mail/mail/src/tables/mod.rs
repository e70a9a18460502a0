//! The tables of the area `mail`: senders with an event loop, with a thread per connection and with a process per
//! connection side by side.

mod knee;
mod latency;
mod levels;
mod rates;
mod work;

use report::footnotes::Footnotes;
use report::swept::wording::{missing, what_digits_mean};
use report::swept::{self, Axes, Sweep, failures, sweeps};
use report::{Layout, Page};
use results::CaseResult;

use super::AREA;

/// The layout of the area.
pub const LAYOUT: Layout = Layout { is_known, tables, ..Layout::new(AREA.name) };

/// The axes: a row per architecture, and columns per number of connections.
const AXES: Axes = Axes { rows: "arch", columns: "connections" };

fn is_known(result: &CaseResult) -> bool {
    swept::is_known(result, AXES)
}

fn tables(results: &[&CaseResult], page: &Page) -> String {
    let mut sweeps = sweeps(results, AXES);
    sweeps.sort_by_key(|sweep| !sweep.params.contains(&("delay", "0")));
    let mut text: String = sweeps.iter().map(|sweep| of_sweep(sweep, page) + "\n").collect();
    text.push_str(&what_digits_mean(results, AREA.name, page));
    text
}

fn of_sweep(sweep: &Sweep, page: &Page) -> String {
    let reasons: Vec<_> = sweep.rows.iter().map(|arch| arch.reasons()).collect();
    let notes = Footnotes::of(&reasons);
    let mut parts = Vec::new();
    if sweep.rows.is_empty() {
        parts.push(page.heading(&sweep.title("")));
    } else {
        parts.push(rates::table(sweep, &notes, page) + &notes.lines(page));
        parts.push(knee::lines(sweep, page));
        parts.push(work::costs(sweep, page));
        parts.push(work::done(sweep, page));
        parts.push(latency::table(sweep, page));
    }
    parts[0].push_str(&missing(sweep, page));
    if !sweep.rows.is_empty() {
        parts.push(failures::lines(sweep, page));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}
