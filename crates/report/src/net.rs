//! The tables of the area `net`: server architectures under load, side by side.

mod advantage;
pub(crate) mod costs;
pub(crate) mod failures;
pub(crate) mod latency;
pub(crate) mod levels;
mod overload;
mod overtaking;
pub(crate) mod rates;
pub(crate) mod sweep;
pub(crate) mod wording;

use results::CaseResult;

pub(crate) use sweep::is_derived;
use sweep::{ANSWER, REQUESTS, SLOW, Sweep, sweeps};

use wording::{missing, what_digits_mean};

use crate::footnotes::Footnotes;
use crate::page::Page;

/// Whether these tables can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    sweep::is_known(result) || overload::is_known(result)
}

/// The tables of `results`, which all have known shapes, and the meaning of their columns.
pub(crate) fn tables(results: &[&CaseResult], page: &Page) -> String {
    let (overloads, loads): (Vec<&CaseResult>, _) =
        results.iter().copied().partition(|result| overload::is_known(result));
    let sweeps = sweeps(&loads);
    let mut text: String = sweeps.iter().map(|sweep| of_sweep(sweep, page) + "\n").collect();
    if !overloads.is_empty() {
        text.push_str(&overload::tables(&overloads, page));
        text.push('\n');
    }
    text.push_str(&what_digits_mean(results, "net", page));
    text
}

/// The tables of one case on one network and with one placement of server and clients.
fn of_sweep(sweep: &Sweep, page: &Page) -> String {
    let reasons: Vec<_> = sweep.archs.iter().map(|arch| arch.reasons()).collect();
    let notes = Footnotes::lettered(&reasons);
    let mut parts = Vec::new();
    if sweep.archs.is_empty() {
        parts.push(page.heading(&sweep.title("")));
    } else if [ANSWER, REQUESTS, SLOW].contains(&sweep.case) {
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
