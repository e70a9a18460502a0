//! The event loop of the system compared with a process and a thread for each connection, at each number of connections: by rate,
//! and by the server's CPU time, which is valid also if the load generator limited the rate.

use crate::metrics::{CHEAPER_GROWTH, FASTER_GROWTH, RATE, SERVER_CPU};
use analysis::Ratio;
use results::CaseResult;

use report::grid::Column;
use report::page::Page;
use report::rows::measured;
use report::swept::levels::{self, Block, three_digits};
use report::swept::{Sweep, SweptRow};

/// Best event loop of each system.
const LOOPS: [&str; 3] = ["epoll", "kqueue", "iocp"];
/// Architectures with which the event loop is compared.
const OTHERS: [&str; 2] = ["fork", "threads"];

/// Seed of the bootstrap; it is constant, so that a document always gives the same tables.
const SEED: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rate,
    Cpu,
}

/// One line of the table.
struct AdvantageLine<'a, 'r> {
    than: &'a SweptRow<'r>,
    by: By,
}

/// A table of the ratios with their intervals; empty if they were not measured.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    let Some(event_loop) = LOOPS.iter().find_map(|name| sweep.row(name)) else {
        return String::new();
    };
    let others = OTHERS.iter().filter_map(|name| sweep.row(name));
    let lines: Vec<AdvantageLine> =
        others.flat_map(|than| [By::Rate, By::Cpu].map(|by| AdvantageLine { than, by })).collect();
    let has = |at: &usize| lines.iter().any(|line| ratio(event_loop, line, *at).is_some());
    let shown: Vec<usize> = (0..sweep.levels.len()).filter(has).collect();
    if shown.is_empty() {
        return String::new();
    }
    let names = lines.iter().map(|line| {
        let by = if line.by == By::Rate { "rate" } else { "CPU time" };
        format!("{}, {by}", line.than.name)
    });
    let names = Column::words("than", names);
    let column = |at: &usize| {
        let cells = lines.iter().map(|line| cell(event_loop, line, *at));
        vec![Column::figures(&sweep.levels[*at].to_string(), cells)]
    };
    let growth = lines.iter().map(|line| growth(sweep, event_loop, line));
    let growth = Column::figures("per tenfold", growth).unless_blank();
    let mut blocks = vec![Block::new("connections in flight", shown.iter().map(column).collect())];
    blocks.extend(growth.map(|growth| Block::new("", vec![vec![growth]])));
    let title = format!("how many times better {} is than others", event_loop.name);
    let mut text =
        page.heading(&sweep.title(&title)) + &levels::laid_out(&names, vec![blocks], page);
    let is_bound = |line: &AdvantageLine| {
        line.by == By::Rate
            && shown.iter().any(|at| {
                event_loop.points[*at].is_saturated() || line.than.points[*at].is_saturated()
            })
    };
    if lines.iter().any(is_bound) {
        let note = "*: at least, ?: unsure: the load generator limited a rate; the ratio of CPU times is not affected";
        text.push_str(&page.faint(note));
    }
    text
}

/// The rate of the event loop divided by that of the other architecture, or the other's CPU time divided by that of the event
/// loop.
fn ratio(event_loop: &SweptRow, line: &AdvantageLine, at: usize) -> Option<Ratio> {
    let (a, b) = (&event_loop.points[at], &line.than.points[at]);
    let (a, b) = match line.by {
        By::Rate => (a.measured(&RATE)?, b.measured(&RATE)?),
        By::Cpu => (b.measured(&SERVER_CPU)?, a.measured(&SERVER_CPU)?),
    };
    analysis::ratio(a, b, SEED)
}

fn cell(event_loop: &SweptRow, line: &AdvantageLine, at: usize) -> String {
    let Some(ratio) = ratio(event_loop, line, at) else { return "-".to_owned() };
    let mark = match (event_loop.points[at].is_saturated(), line.than.points[at].is_saturated()) {
        _ if line.by == By::Cpu => "",
        (_, true) => "?",
        (true, false) => "*",
        (false, false) => "",
    };
    in_brackets(ratio, mark)
}

/// A ratio with its interval, such as `8.29* (7.70-8.86)`.
fn in_brackets(Ratio { mid, low, high }: Ratio, mark: &str) -> String {
    let shown = |value: f64| three_digits(value, (high - mid).max(mid - low));
    match low < high {
        true => format!("{}{mark} ({}-{})", shown(mid), shown(low), shown(high)),
        false => format!("{}{mark}", shown(mid)),
    }
}

/// Factor by which the ratio grows with ten times the connections.
fn growth(sweep: &Sweep, event_loop: &SweptRow, line: &AdvantageLine) -> Option<String> {
    let metric = if line.by == By::Rate { &FASTER_GROWTH } else { &CHEAPER_GROWTH };
    let is_of_line = |result: &&&CaseResult| {
        result.metric == metric.name
            && result.params["arch"] == event_loop.name
            && result.params["than"] == line.than.name
    };
    let e = measured(sweep.derived.iter().find(is_of_line)?)?;
    Some(in_brackets(Ratio { mid: e.median, low: e.low, high: e.high }, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_the_digits_of_its_interval() {
        let shown = |mid, low, high| in_brackets(Ratio { mid, low, high }, "*");
        assert_eq!(shown(8.2911, 7.7, 8.86), "8.3* (7.7-8.9)");
        assert_eq!(shown(5.0, 5.0, 5.0), "5.00*");
    }
}
