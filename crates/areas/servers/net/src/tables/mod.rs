//! The tables of the area `net`: server architectures under load, side by side.

mod advantage;
mod costs;
mod importance;
mod latency;
mod overload;
mod overtaking;
mod rates;

use report::footnotes::Footnotes;
use report::swept::wording::{missing, what_digits_mean};
use report::swept::{self, Axes, Sweep, failures, sweeps};
use report::{Layout, Page};
use results::CaseResult;

use super::{AREA, SERVERS, SLOW};

/// The layout of the area.
pub const LAYOUT: Layout = Layout { is_known, tables, ..Layout::new(AREA.name) };

/// The axes: a row per architecture, and columns per number of connections.
const AXES: Axes = Axes { rows: "arch", columns: "connections" };

fn is_known(result: &CaseResult) -> bool {
    swept::is_known(result, AXES) || overload::is_known(result)
}

fn tables(results: &[&CaseResult], page: &Page) -> String {
    let (overloads, loads): (Vec<&CaseResult>, _) =
        results.iter().copied().partition(|result| overload::is_known(result));
    let sweeps = sweeps(&loads, AXES);
    let mut text: String = sweeps.iter().map(|sweep| of_sweep(sweep, page) + "\n").collect();
    if !overloads.is_empty() {
        text.push_str(&overload::tables(&overloads, page));
        text.push('\n');
    }
    text.push_str(&what_digits_mean(results, AREA.name, page));
    text
}

/// Tables of one case on one network and with one placement of server and clients.
fn of_sweep(sweep: &Sweep, page: &Page) -> String {
    let reasons: Vec<_> = sweep.rows.iter().map(|arch| arch.reasons()).collect();
    let notes = Footnotes::lettered(&reasons);
    let mut parts = Vec::new();
    if sweep.rows.is_empty() {
        parts.push(page.heading(&sweep.title("")));
    } else if SERVERS.contains(&sweep.case) || sweep.case == SLOW {
        parts.push(rates::table(sweep, &notes, page) + &notes.lines(page));
        parts.push(rates::by_cpu_second(sweep, page));
        parts.push(advantage::table(sweep, page));
        parts.push(latency::table(sweep, page));
        parts.push(costs::table(sweep, page));
        parts.push(costs::slow_served(sweep, page));
    } else {
        parts.push(costs::held(sweep, &notes, page) + &notes.lines(page));
    }
    parts[0].push_str(&missing(sweep, page));
    parts.push(failures::lines(sweep, page));
    parts.push(overtaking::table(sweep, page));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}
