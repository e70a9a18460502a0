//! The number of connections from which more of them hardly help.

use cases::mail::metrics::KNEE;

use crate::concurrency::measured;
use crate::net::levels::three_digits;
use crate::net::sweep::Sweep;
use crate::net::wording::heading;
use crate::page::Page;
use crate::text;

/// A line for each architecture; nothing if too few numbers of connections were measured.
pub(crate) fn lines(sweep: &Sweep, page: &Page) -> String {
    let knees = sweep.derived.iter().filter(|result| result.metric == KNEE.name);
    let line = |result: &results::CaseResult| {
        let what = match (measured(result), &result.reason) {
            (Some(e), _) => {
                let half = (e.high - e.median).max(e.median - e.low);
                let shown = |value| three_digits(value, half);
                format!("{} ({}-{})", shown(e.median), shown(e.low), shown(e.high))
            }
            (None, reason) => reason.clone().unwrap_or_else(|| "no reason was given".to_owned()),
        };
        let doubts = result.doubts.iter().map(|doubt| format!("; {doubt}")).collect::<String>();
        let name = format!("{}: ", result.params["arch"]);
        text::hanging(&name, &text::clean(&(what + &doubts)), page.prose_width())
    };
    let lines: String = knees.map(|result| line(result)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let title = "connections from which the rate is at least 90 % of its level with many";
    heading(&sweep.title(title), page) + &lines
}
