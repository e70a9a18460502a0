//! The tables of the area `mail`: senders with an event loop, with a thread per connection and with a process per
//! connection side by side.

mod knee;
mod latency;
mod levels;
mod rates;
mod work;

use results::CaseResult;

use crate::first_seen::grouped;
use crate::footnotes::Footnotes;
use crate::net::failures;
use crate::net::sweep::{Sweep, is_derived, is_name, number, param};
use crate::net::wording::{missing, what_digits_mean};
use crate::page::Page;
use crate::rows::is_described;

const SEND: &str = "mail/send";

/// Parameters of the case, besides `message`, which titles name; and of derived metrics.
const PARAMS: [&str; 5] = ["arch", "connections", "delay", "domains", "recipients"];
const DERIVED_PARAMS: [&str; 4] = ["arch", "delay", "domains", "recipients"];

/// Whether these tables can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    let is_usual = |(key, value): (&String, &String)| match key.as_str() {
        "connections" => number(value).is_some(),
        _ => is_name(value),
    };
    let params: &[&str] = if is_derived(result) { &DERIVED_PARAMS } else { &PARAMS };
    result.case == SEND
        && is_described(result)
        && result.params.keys().filter(|key| *key != "message").eq(params)
        && result.params.iter().all(is_usual)
}

/// The tables of `results`, which all have known shapes, and the meaning of their columns.
pub(crate) fn tables(results: &[&CaseResult], page: &Page) -> String {
    let sweeps = sweeps(results);
    let mut text: String = sweeps.iter().map(|sweep| of_sweep(sweep, page) + "\n").collect();
    text.push_str(&what_digits_mean(results, "mail", page));
    text
}

/// The results by parameters other than architecture and connections, ordered by delay.
fn sweeps<'r>(results: &[&'r CaseResult]) -> Vec<Sweep<'r>> {
    let named = |&result: &&'r CaseResult| {
        let params = ["delay", "domains", "recipients", "message"];
        (params.map(|key| (key, param(result, key))).to_vec(), result)
    };
    let mut groups = grouped(results.iter().map(named));
    groups.sort_by_key(|(params, _)| params[0].1 != "0");
    groups.into_iter().map(|(params, results)| Sweep::of(SEND, params, &results)).collect()
}

fn of_sweep(sweep: &Sweep, page: &Page) -> String {
    let reasons: Vec<_> = sweep.archs.iter().map(|arch| arch.reasons()).collect();
    let notes = Footnotes::of(&reasons);
    let mut parts = Vec::new();
    if sweep.archs.is_empty() {
        parts.push(page.heading(&sweep.title("")));
    } else {
        parts.push(rates::table(sweep, &notes, page) + &notes.lines(page));
        parts.push(knee::lines(sweep, page));
        parts.push(work::costs(sweep, page));
        parts.push(work::done(sweep, page));
        parts.push(latency::table(sweep, page));
    }
    parts[0].push_str(&missing(sweep, page));
    if !sweep.archs.is_empty() {
        parts.push(failures::lines(sweep, page));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}
