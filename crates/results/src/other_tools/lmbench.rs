//! The text that programs of lmbench 3 print, and its results files, which are those texts one after another.
//!
//! There are lines `NAME: NUMBER UNIT`, and tables with a heading in front of columns of numbers. Lines that do not say what was
//! measured, such as those of `bw_mem`, are left out; so is everything in brackets.

use measure::Direction;

use super::figures::{OtherMetric, TIME, of_number};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun, error};
use super::names;
use super::number::amount;
use crate::document::MachineFacts;
use crate::import::ImportError;

/// lmbench's text.
pub const FORMAT: ToolFormat = ToolFormat {
    name: "lmbench",
    about: "text of its programs, or a results file",
    reads: Reads::Text(run),
};

const BANDWIDTH: OtherMetric = ("bandwidth", "bytes/s", Direction::Higher);

/// A table whose lines have a size or number, and a figure.
struct Table {
    name: &'static str,
    /// Parameters that the heading gives.
    params: Vec<(String, String)>,
    /// The parameter that the first column has.
    column: &'static str,
    ns: f64,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let mut run = ToolRun::default();
    let mut table: Option<Table> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with('[') {
            header(line, &mut run);
            table = None;
        } else if let Some(heading) = line.strip_prefix('"') {
            table = of_heading(heading);
        } else if line.is_empty() {
            table = None;
        } else if let Some(result) = named(line).map_err(|problem| error(number, problem))? {
            run.results.push(result);
            table = None;
        } else if let Some(of_rows) = &table {
            match line.starts_with(|c: char| c.is_ascii_digit()) {
                true => {
                    run.results.push(of_rows.row(line).map_err(|problem| error(number, problem))?)
                }
                false => table = None,
            }
        }
    }
    if run.results.is_empty() {
        return Err(error(
            1,
            "no line of it is one of lmbench's, such as `Pipe latency: 5.1 microseconds`",
        ));
    }
    Ok(run)
}

/// `[lmbench3.0 results for Linux host 6.1.0 ... x86_64 GNU/Linux]`.
fn header(line: &str, run: &mut ToolRun) {
    let Some((version, uname)) =
        line.strip_prefix("[lmbench").and_then(|rest| rest.split_once(" results for "))
    else {
        return;
    };
    run.version = Some(version.to_owned());
    let mut machine = MachineFacts::new();
    let words: Vec<&str> = uname.split_whitespace().collect();
    if let [os, _host, release, ..] = words.as_slice() {
        machine.insert("os".to_owned(), (*os).into());
        machine.insert("release".to_owned(), (*release).into());
    }
    run.machine = machine;
}

/// `Simple syscall: 0.1234 microseconds`; `None` for any other form.
fn named(line: &str) -> Result<Option<ToolResult>, String> {
    let Some((name, rest)) = line.rsplit_once(": ") else { return Ok(None) };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [text, unit] = words.as_slice() else { return Ok(None) };
    let (metric, factor) = match *unit {
        "nanoseconds" => (TIME, 1.0),
        "microseconds" => (TIME, 1e3),
        "milliseconds" => (TIME, 1e6),
        "seconds" => (TIME, 1e9),
        "KB/sec" => (BANDWIDTH, 1e3),
        "MB/sec" => (BANDWIDTH, 1e6),
        _ => return Ok(None),
    };
    let number = amount(text).ok_or_else(|| format!("{text:?} is not a number of {unit}"))?;
    let point = names::point(FORMAT.name, &name.replace(' ', "-"), "name");
    Ok(Some(of_number(&point, metric, number * factor)))
}

/// The tables of lat_ctx (`"size=16k ovr=1.04`) and lat_mem_rd (`"stride=128`); `None` for others, whose lines do not say their
/// unit.
fn of_heading(heading: &str) -> Option<Table> {
    let pairs: Vec<(&str, &str)> =
        heading.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let (name, column, ns) = match pairs.first()?.0 {
        "size" => ("context-switch", "processes", 1e3),
        "stride" => ("memory-read-latency", "megabytes", 1.0),
        _ => return None,
    };
    // `ovr` is the overhead that lat_ctx has subtracted.
    let params = pairs.into_iter().filter(|(key, _)| *key != "ovr");
    let params = params.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Some(Table { name, params, column, ns })
}

impl Table {
    fn row(&self, line: &str) -> Result<ToolResult, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [first, figure] = words.as_slice() else {
            return Err(format!("a line of this table has {} numbers, not two", words.len()));
        };
        let number = |text: &str| amount(text).ok_or_else(|| format!("{text:?} is not a number"));
        number(first)?;
        let mut point = names::point(FORMAT.name, self.name, "name");
        point.params.extend(self.params.iter().cloned());
        point.params.insert(self.column.to_owned(), (*first).to_owned());
        Ok(of_number(&point, TIME, number(figure)? * self.ns))
    }
}
