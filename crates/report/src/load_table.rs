//! The table of a load on a server, one step per line.

use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Cell, Column, Group};
use crate::page::{Ink, Page};
use crate::quantity::figure;

/// Minimum page width for the time until the server closed the connection.
const ROOM_FOR_CLOSE: usize = 100;
/// Minimum page width for connections and the time to connect.
const ROOM_FOR_CONNECT: usize = 80;
/// Relative variation of the times of single exchanges, which determines their digits.
const SHOWN: f64 = 0.01;

/// One step of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadLine {
    /// Number of open connections.
    pub in_flight: usize,
    /// Connections established per second.
    pub connections_per_s: f64,
    /// Correct replies per second.
    pub replies_per_s: f64,
    /// Median and 99th percentile of the time to connect, in ns; `None` if no connection was established.
    pub connect: Option<[u64; 2]>,
    /// Median and 99th percentile of the time to the reply, in ns; `None` if there was no reply.
    pub reply: Option<[u64; 2]>,
    /// Median and 99th percentile of the time until the server closed the connection, in ns; `None` if it closed none.
    pub close: Option<[u64; 2]>,
    /// Number of errors.
    pub errors: u64,
    /// CPU time of the generator divided by elapsed time.
    pub client_cpu: Option<f64>,
    /// CPU time of the server divided by elapsed time.
    pub server_cpu: Option<f64>,
    /// Remarks on the figures of the step, the most serious first.
    pub notes: Vec<String>,
}

/// A table of the steps, with the remarks below; connections per second only if some were established.
pub fn load_table(lines: &[LoadLine], page: &Page) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let reasons: Vec<Vec<Reason>> = lines.iter().map(reasons).collect();
    let notes = Footnotes::lettered(&reasons);
    let count = |heading: &str, value: fn(&LoadLine) -> f64| {
        let cell = |line| Cell::figure(figure(value(line).round(), 0.0, ""));
        Column::narrow(heading, lines.iter().map(cell))
    };
    let mut first = vec![count("in\nflight", |line| line.in_flight as f64)];
    let connects = lines.iter().any(|line| line.connections_per_s >= 0.5);
    if connects && page.width >= ROOM_FOR_CONNECT {
        first.push(count("conns\n/s", |line| line.connections_per_s));
    }
    first.push(count("replies\n/s", |line| line.replies_per_s));
    let mut groups = vec![Group::new("", first)];
    let mut times = |heading: &str, of: fn(&LoadLine) -> Option<[u64; 2]>| {
        if lines.iter().any(|line| of(line).is_some()) {
            groups.push(Group::new(
                heading,
                vec![percentile("p50", lines, of, 0), percentile("p99", lines, of, 1).close()],
            ));
        }
    };
    if page.width >= ROOM_FOR_CONNECT {
        times("connect", |line| line.connect);
    }
    times("reply", |line| line.reply);
    if page.width >= ROOM_FOR_CLOSE {
        times("close", |line| line.close);
    }
    let errors = Column::narrow("errors", lines.iter().map(errors_cell)).close();
    groups.push(Group::new("", vec![errors]));
    let cpu = |heading: &str, of: fn(&LoadLine) -> Option<f64>| {
        let cell = |line| of(line).map_or_else(Cell::unknown, percent);
        Column::set_right(heading, lines.iter().map(cell)).close()
    };
    let columns = vec![cpu("own", |line| line.client_cpu), cpu("server", |line| line.server_cpu)];
    groups.push(Group::new("CPU %", columns));
    groups.push(Group::new("", vec![notes.column(&reasons)]));
    grid::grouped_table(groups, page) + &notes.lines(page)
}

fn reasons(line: &LoadLine) -> Vec<Reason> {
    line.notes.iter().cloned().map(Reason::Note).collect()
}

fn percentile(
    heading: &str,
    lines: &[LoadLine],
    of: fn(&LoadLine) -> Option<[u64; 2]>,
    which: usize,
) -> Column {
    let cell = |line: &LoadLine| match of(line) {
        Some(times) => {
            let time = times[which] as f64;
            // The times are not aligned at their decimal points: four aligned columns would be too wide.
            Cell::text(figure(time, time * SHOWN, "ns").to_string())
        }
        None => Cell::unknown(),
    };
    Column::set_right(heading, lines.iter().map(cell))
}

fn errors_cell(line: &LoadLine) -> Cell {
    let ink = if line.errors == 0 { Ink::Plain } else { Ink::Bad };
    Cell::figure(figure(line.errors as f64, 0.0, "")).in_ink(ink)
}

fn percent(share: f64) -> Cell {
    Cell::number(format!("{:.0}", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(in_flight: usize, notes: &[&str]) -> LoadLine {
        LoadLine {
            in_flight,
            connections_per_s: 43_210.4,
            replies_per_s: 43_209.8,
            connect: Some([12_345, 1_234_567]),
            reply: Some([523_456, 999_999_999]),
            close: Some([523_456, 999_999_999]),
            errors: 1_204,
            client_cpu: Some(0.984),
            server_cpu: None,
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
        }
    }

    #[test]
    fn a_table_of_steps_fits_eighty_columns() {
        let lines = [line(1, &[]), line(10_000, &["client-saturated"]), LoadLine::default()];
        let page = Page { width: 80, colour: false, unicode: true, this_run: false };
        let shown = load_table(&lines, &page);
        let expected = "                         ─── connect ───  ─── reply ────        ─ CPU % ──
    in   conns  replies
flight      /s       /s      p50     p99     p50     p99 errors own server
────────────────────────────────────────────────────────────────────────────
     1  43,210   43,210  12.3 us 1.23 ms  523 us 1.000 s  1,204  98      -
10,000  43,210   43,210  12.3 us 1.23 ms  523 us 1.000 s  1,204  98      - a
     0       0        0        -       -       -       -      0   -      -
a  client-saturated
";
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(shown, expected, "{shown}");
    }

    #[test]
    fn any_page_will_do() {
        for width in [60, 100, 160] {
            let page = Page { width, colour: false, unicode: false, this_run: false };
            let shown = load_table(&[line(10_000, &["a", "b"])], &page);
            assert!(shown.lines().all(|line| line.len() <= width), "{shown}");
        }
        let page = Page { width: 80, colour: false, unicode: true, this_run: false };
        assert_eq!(load_table(&[], &page), "");
    }
}
