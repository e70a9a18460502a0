//! The tables of the area `file`: phases side by side, and the file systems of the directories below them.

use std::collections::BTreeSet;

use crate::metrics::{CPU, CREATE_READ, PHASES, READ_BANDWIDTH, SYNC_COST, WRITE_BANDWIDTH};
use measure::Metric;
use results::{CaseResult, Outcome};
use serde_json::{Map, Value};

use report::first_seen::distinct;
use report::folded::unsupported_lines;
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column};
use report::groups::{Group, Order, grouped, param};
use report::page::Ink;
use report::quantity::{figure, format_per_op_briefly, half_width, with_thousands};
use report::rows::{Row, areas, ending_word, measured};
use report::{Layout, Page};

/// The layout of the area.
pub const LAYOUT: Layout =
    Layout { is_known, tables, below: file_systems, ..Layout::new(super::AREA.name) };

/// Cases of the area, each with the parameters by which its rows differ.
const CASES: [(&str, &[&str]); 6] = [
    ("file/small", &["size"]),
    ("file/sync", &["sync"]),
    ("file/create", &["how"]),
    ("file/layout", &["layout"]),
    ("file/workers", &["where", "workers"]),
    ("file/cold", &["size"]),
];

/// Values of parameters in the order in which they are shown; numbers follow by size.
const ORDERED: [&str; 10] = [
    "none",
    "file",
    "file+dir",
    "open",
    "tmpfile+link",
    "io_uring",
    "flat",
    "fanned",
    "same",
    "separate",
];

/// Minimum page width for bandwidths in the first table.
const ROOM_FOR_ALL: usize = 100;

/// Whether these tables can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    let keys = CASES.iter().find(|(case, _)| *case == result.case).map(|(_, keys)| *keys);
    let has_figure = result.outcome != Outcome::Measured || result.estimate.is_some();
    has_figure
        && result.params.contains_key("dir")
        && keys.is_some_and(|keys| keys.iter().all(|key| result.params.contains_key(*key)))
}

/// The tables of `results`, which all belong to known cases, and the meaning of their columns.
pub(crate) fn tables(results: &[&CaseResult], page: &Page) -> String {
    let areas = areas(results.iter().copied());
    let rows: Vec<&Row> = areas.iter().flat_map(|area| &area.rows).collect();
    let mut text = String::new();
    for (case, keys) in CASES {
        let of_case = rows.iter().filter(|row| row.results.iter().any(|r| r.case == case));
        let within = [keys, &["dir"]].concat();
        for group in grouped(of_case.copied(), &within, &Order { params: &[], values: &ORDERED }) {
            text.push_str(&Tables::of(case, keys, group).text(page));
            text.push('\n');
        }
    }
    text + &legend(page)
}

/// File systems of the directories of the results, as recorded with the machine of the run, one line each.
fn file_systems(results: &[CaseResult], machine: &Map<String, Value>, page: &Page) -> String {
    let dirs: BTreeSet<&str> =
        results.iter().filter_map(|result| result.params.get("dir")).map(String::as_str).collect();
    let line = |dir: &&str| {
        let shown = |fact: &str| match machine.get(&format!("filesystem.{dir}.{fact}"))? {
            Value::String(text) if text != "unknown" => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let number = |fact: &str| shown(fact)?.parse::<f64>().ok();
        let place = shown("device").map(|device| match shown("mounted_on") {
            Some(point) if point != device => format!(" on {device}, at {point}"),
            _ => format!(" on {device}"),
        });
        let mut parts = vec![format!("{}{}", shown("type")?, place.unwrap_or_default())];
        parts.extend(shown("options").filter(|options| !options.is_empty()));
        let free =
            number("free_bytes").map(|bytes| figure(bytes, bytes * 0.01, "bytes").to_string());
        let inodes = number("free_files").map(|count| format!("{} inodes", short(count)));
        let free: Vec<String> = free.into_iter().chain(inodes).collect();
        if !free.is_empty() {
            parts.push(format!("{} free", free.join(" and ")));
        }
        Some(page.hanging(&format!("{dir}: "), &parts.join("; ")))
    };
    let lines: String = dirs.iter().filter_map(line).collect();
    page.paint_lines(Ink::Faint, &lines)
}

/// The rows of one case that differ in few parameters.
struct Tables<'a, 'r> {
    case: &'a str,
    keys: &'a [&'a str],
    group: Group<'a, 'r>,
}

impl<'a, 'r> Tables<'a, 'r> {
    fn of(case: &'a str, keys: &'a [&'a str], mut group: Group<'a, 'r>) -> Self {
        group.rows.sort_by_key(|row| {
            let values = keys.iter().chain(&["dir"]).map(|key| place(param(row, key)));
            values.collect::<Vec<_>>()
        });
        Self { case, keys, group }
    }

    fn text(&self, page: &Page) -> String {
        let is_there = |row: &&&Row| row.outcome() != Outcome::Unsupported;
        let shown: Vec<&Row> = self.group.rows.iter().filter(is_there).copied().collect();
        let mut text = page.heading(&self.title());
        if !shown.is_empty() {
            let reasons: Vec<Vec<Reason>> =
                shown.iter().map(|row| distinct(row.reasons())).collect();
            let notes = Footnotes::of(&reasons);
            text.push_str(&self.rates(&shown, &notes, page));
            text.push_str(&self.latencies(&shown, page));
            text.push_str(&self.bandwidths(&shown, page));
            text.push_str(&notes.lines(page));
        }
        text + &self.missing(page)
    }

    /// Title, such as `file/small: 10,000 files in temp`.
    fn title(&self) -> String {
        let mut title = format!("{}: {} files", self.case, thousands(self.group.param("files")));
        let size = self.group.param("size");
        if !size.is_empty() {
            title.push_str(&format!(" of {}", size_words(size)));
        }
        if let [dir] = self.dirs()[..] {
            title.push_str(&format!(" in {dir}"));
        }
        if self.group.param("dropped") == "all" {
            title.push_str(", all caches dropped");
        }
        title
    }

    fn dirs(&self) -> Vec<&'r str> {
        let dirs: BTreeSet<&str> = self.group.rows.iter().map(|row| param(row, "dir")).collect();
        dirs.into_iter().collect()
    }

    /// Parameters that distinguish rows; the directory only if there are several.
    fn row_keys(&self) -> impl Iterator<Item = &'a str> {
        let several = self.dirs().len() > 1;
        self.keys.iter().copied().chain(several.then_some("dir"))
    }

    fn key_columns(&self, rows: &[&Row]) -> Vec<Column> {
        let values = |key| rows.iter().map(move |row| param(row, key));
        let column = |key| match key {
            "size" => Column::figures(key, values(key).map(size_words)),
            "workers" => Column::figures(key, values(key)),
            _ => Column::words(key, values(key)),
        };
        self.row_keys().map(column).collect()
    }

    /// A table of files per second, and the cost of a file.
    fn rates(&self, rows: &[&Row], notes: &Footnotes, page: &Page) -> String {
        let mut columns: Vec<(Column, usize)> = Vec::new();
        for (nth, phase) in PHASES.iter().enumerate() {
            let rate = phase.rate.name;
            let cells = rows.iter().map(|row| match (row.by_name(rate), row.ending()) {
                (Some(rate), _) => measured(rate).map(|rate| short(rate.median)).into(),
                (None, Some(ending)) if nth == usize::from(self.case == "file/cold") => {
                    Cell::inked(ending_word(ending), Ink::Bad)
                }
                _ => Cell::default(),
            });
            columns.push((Column::figures(&format!("{}\n/s", phase.name), cells), 0));
        }
        let mut add = |heading: &str, rank, text: &dyn Fn(&Row) -> Option<String>| {
            columns.push((Column::figures(heading, rows.iter().map(|row| text(row))), rank));
        };
        let us = |row: &Row, metric| Some(format!("{} us", short(median(row, metric)? / 1e3)));
        add(&page.signs("±"), 1, &|row| widest(row).map(|share| page.signs(&share)));
        add("sync\ncost", 0, &|row| Some(format!("{}x", short(median(row, &SYNC_COST)?))));
        add("create\n+ read", 2, &|row| us(row, &CREATE_READ));
        add("CPU\na file", 2, &|row| us(row, &CPU));
        let calls = |row: &Row| row.cost()?.per_op.as_ref()?.syscalls;
        add("calls\na file", 3, &|row| calls(row).map(format_per_op_briefly));
        if page.table_width() >= ROOM_FOR_ALL {
            columns.extend(bandwidth_columns(rows).into_iter().map(|column| (column, 4)));
        }
        columns.push((notes.column(rows.iter().map(|row| row.reasons())), 0));
        columns.retain(|(column, _)| !column.is_blank());
        let keys = self.key_columns(rows);
        let fitting = |most: usize| -> Vec<Column> {
            let kept = columns.iter().filter(|(_, rank)| *rank <= most).map(|(column, _)| column);
            keys.iter().chain(kept).cloned().collect()
        };
        let fits = |columns: &Vec<Column>| grid::total_width(columns) <= page.table_width();
        let close = || fitting(0).into_iter().map(Column::close).collect();
        let shown = (0..=4).rev().map(fitting).find(fits).unwrap_or_else(close);
        grid::table(give_way(shown), page)
    }

    /// A table of the times of a file: median, 99th percentile and maximum.
    fn latencies(&self, rows: &[&Row], page: &Page) -> String {
        let set = |parts: &[usize]| -> Vec<Column> {
            let of_phases = PHASES.iter().filter_map(|phase| {
                let cells = rows.iter().map(|row| {
                    let us = |part: &usize| Some(short(median(row, &phase.times[*part])? / 1e3));
                    Some(parts.iter().map(us).collect::<Option<Vec<_>>>()?.join("/"))
                });
                Column::figures(&format!("{}\nus", phase.name), cells).unless_blank()
            });
            self.key_columns(rows).into_iter().chain(of_phases).collect()
        };
        const P50: usize = 0;
        const P99: usize = 2;
        const MAX: usize = 3;
        let choices = [&[P50, P99, MAX][..], &[P50, P99], &[P50]];
        let fits = |columns: &Vec<Column>| grid::total_width(columns) <= page.table_width();
        let all = choices.map(set);
        let columns = all.iter().find(|columns| fits(columns)).unwrap_or(&all[2]);
        if columns.len() == self.key_columns(rows).len() {
            return String::new();
        }
        format!("\n{}", grid::table(give_way(columns.clone()), page))
    }

    /// A table of bytes per second, if files differ in size and the first table has no room for them.
    fn bandwidths(&self, rows: &[&Row], page: &Page) -> String {
        let mut columns = bandwidth_columns(rows);
        if !self.keys.contains(&"size") || columns.is_empty() || page.table_width() >= ROOM_FOR_ALL
        {
            return String::new();
        }
        columns.splice(0..0, self.key_columns(rows));
        format!("\n{}", grid::table(give_way(columns), page))
    }

    /// Unsupported rows, with their reasons.
    fn missing(&self, page: &Page) -> String {
        let is_missing = |row: &&&Row| row.outcome() == Outcome::Unsupported;
        let missing = self.group.rows.iter().filter(is_missing).map(|row| {
            let name = self.row_keys().map(|key| format!("{key} {}", param(row, key)));
            let name: Vec<String> = name.collect();
            (row.results.first().and_then(|result| result.reason.as_deref()), name.join(" "))
        });
        unsupported_lines(missing, page)
    }
}

/// Makes the first column wrap if the page is too narrow for all columns.
fn give_way(mut columns: Vec<Column>) -> Vec<Column> {
    let first = columns.remove(0).wrapping();
    columns.insert(0, first);
    columns
}

fn bandwidth_columns(rows: &[&Row]) -> Vec<Column> {
    let shown = [("written", &WRITE_BANDWIDTH), ("read", &READ_BANDWIDTH)];
    let column = |(name, metric): (&str, &Metric)| {
        let cell = |value: f64| Cell::figure(figure(value, value * 0.01, "bytes/s"));
        Column::figures(name, rows.iter().map(|row| median(row, metric).map(cell))).unless_blank()
    };
    shown.into_iter().filter_map(column).collect()
}

fn median(row: &Row, metric: &Metric) -> Option<f64> {
    Some(measured(row.by_name(metric.name)?)?.median)
}

/// The widest interval of a row's rates, such as `±3 %`.
fn widest(row: &Row) -> Option<String> {
    let rates = PHASES.iter().filter_map(|phase| measured(row.by_name(phase.rate.name)?));
    let share = |e: results::Estimate| half_width(e.median, e.low, e.high) / e.median.abs();
    let widest = rates.map(share).filter(|share| share.is_finite()).reduce(f64::max)?;
    Some(match widest {
        share if share > 1.0 => ">100 %".to_owned(),
        share if share < 0.0095 => format!("±{:.1} %", share * 100.0),
        share => format!("±{:.0} %", share * 100.0),
    })
}

/// Number with about three digits: `0.98`, `12.3`, `987`, `1.23k`, `12.3M`.
fn short(value: f64) -> String {
    let (mut scaled, mut unit) = (value, "");
    for next in ["k", "M", "G"] {
        if scaled.abs() < 999.5 {
            break;
        }
        (scaled, unit) = (scaled / 1e3, next);
    }
    let decimals = match scaled.abs() {
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    };
    if scaled.is_finite() { format!("{scaled:.decimals$}{unit}") } else { "?".to_owned() }
}

/// Size in words, such as `4 KiB` for `4k`.
fn size_words(size: &str) -> String {
    let (digits, unit) = split_unit(size);
    let unit = match unit {
        1 => "B",
        1024 => "KiB",
        _ => "MiB",
    };
    format!("{digits} {unit}")
}

/// Number and unit of a size in bytes, such as `4` and 1024 for `4k`.
fn split_unit(size: &str) -> (&str, u64) {
    match (size.strip_suffix('k'), size.strip_suffix('m')) {
        (Some(digits), _) => (digits, 1 << 10),
        (_, Some(digits)) => (digits, 1 << 20),
        _ => (size, 1),
    }
}

/// Number with thousands separators, such as `10,000`; other text is unchanged.
fn thousands(number: &str) -> String {
    let is_plain = number.bytes().all(|b| b.is_ascii_digit());
    if is_plain { with_thousands(number) } else { number.to_owned() }
}

/// The sort key of a value: known words in their order, numbers by size, then other values.
fn place(value: &str) -> (usize, u64, String) {
    let known = ORDERED.iter().position(|word| *word == value);
    let (digits, unit) = split_unit(value);
    let number = digits.parse::<u64>().ok().map(|number| number.saturating_mul(unit));
    let last = usize::from(number.is_none()) + ORDERED.len();
    (known.unwrap_or(last), number.unwrap_or(0), value.to_owned())
}

fn legend(page: &Page) -> String {
    let lines = [
        "/s: files (list: names) per second; ±: the widest 95 % interval of these in the row",
        "us: median / 99th percentile / maximum of the time per file",
        "CPU, calls: per file in all phases (calls: without list); more in --json, --csv, --xlsx",
    ];
    lines.into_iter().map(|line| page.faint(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.98, "0.98"),
            (9.996, "10.0"),
            (99.96, "100"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (98_765.0, "98.8k"),
            (1.5e6, "1.50M"),
            (f64::NAN, "?"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(thousands("10000"), "10,000");
        assert_eq!(thousands("200"), "200");
    }

    #[test]
    fn values_have_an_order_people_expect() {
        for [less, more] in [
            ["none", "file"],
            ["0", "1k"],
            ["1k", "1500"],
            ["4k", "16k"],
            ["128k", "1m"],
            ["flat", "fanned"],
            ["9", "x"],
        ] {
            assert!(place(less) < place(more), "{less} {more}");
        }
    }
}
