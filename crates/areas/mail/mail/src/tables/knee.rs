//! The knee of each architecture: the number of connections from which more connections hardly increase the rate.

use crate::metrics::KNEE;

use report::page::Page;
use report::rows::{measured, reason};
use report::swept::Sweep;
use report::swept::levels::three_digits;
use report::text;

/// One line per architecture; empty if too few numbers of connections were measured.
pub(crate) fn lines(sweep: &Sweep, page: &Page) -> String {
    let knees = sweep.derived.iter().filter(|result| result.metric == KNEE.name);
    let line = |result: &results::CaseResult| {
        let what = match measured(result) {
            Some(e) => {
                let half = (e.high - e.median).max(e.median - e.low);
                let [mid, low, high] = [e.median, e.low, e.high].map(|x| three_digits(x, half));
                format!("{mid} ({low}-{high})")
            }
            None => reason(result).to_owned(),
        };
        let doubts = result.doubts.iter().map(|doubt| format!("; {doubt}")).collect::<String>();
        let name = format!("{}: ", result.params["arch"]);
        page.hanging(&name, &text::clean(&(what + &doubts)))
    };
    let lines: String = knees.map(|result| line(result)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let title = "connections from which the rate is at least 90 % of its level with many";
    page.heading(&sweep.title(title)) + &lines
}
