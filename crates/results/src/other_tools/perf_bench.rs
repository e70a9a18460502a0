//! The text that `perf bench` prints: for each benchmark a heading and one number.

use measure::Direction;

use super::figures::{OtherMetric, TIME, failed, of_number};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun, error};
use super::names;
use super::number::amount;
use crate::import::ImportError;
use crate::point::PointKey;

/// `perf bench`'s text.
pub const FORMAT: ToolFormat = ToolFormat {
    name: "perf-bench",
    about: "text of perf bench, default format",
    reads: Reads::Text(run),
};

const RATE: OtherMetric = ("rate", "operations/s", Direction::Higher);
const BANDWIDTH: OtherMetric = ("bandwidth", "bytes/s", Direction::Higher);
const ELAPSED: OtherMetric = ("elapsed", "ns", Direction::Lower);
/// perf counts in powers of 1024.
const GIB: f64 = 1_073_741_824.0;

/// A benchmark of which a line was read.
struct Heading {
    line: usize,
    point: PointKey,
    elapsed: Option<f64>,
    figure: Option<ToolResult>,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let mut results = Vec::new();
    let mut open: Option<Heading> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("# Running ") {
            results.extend(open.take().map(Heading::close));
            let name = benchmark(name).ok_or_else(|| {
                error(number, "the heading names no benchmark such as sched/pipe")
            })?;
            open = Some(Heading::new(
                number,
                names::point(FORMAT.name, &name.replace('/', "-"), "name"),
            ));
        } else if let (Some(heading), Some(name)) = (&mut open, line.strip_prefix("# function ")) {
            // `perf bench mem` tries several functions below one heading.
            let name =
                quoted(name).ok_or_else(|| error(number, "the function has no name in quotes"))?;
            let mut point = heading.point.clone();
            point.params.insert("function".to_owned(), name.to_owned());
            let before = std::mem::replace(heading, Heading::new(number, point));
            if before.figure.is_some() || before.elapsed.is_some() {
                results.push(before.close());
            }
        } else if let Some(heading) = &mut open {
            heading.line(line).map_err(|problem| error(number, problem))?;
        }
    }
    results.extend(open.map(Heading::close));
    if results.is_empty() {
        return Err(error(
            1,
            "no line of it is a heading such as `# Running 'sched/pipe' benchmark:`",
        ));
    }
    Ok(ToolRun { results, ..ToolRun::default() })
}

impl Heading {
    fn new(line: usize, point: PointKey) -> Self {
        Self { line, point, elapsed: None, figure: None }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (text, metric, factor) = match words.as_slice() {
            [number, "usecs/op"] => (*number, TIME, 1e3),
            [number, "msecs/op"] => (*number, TIME, 1e6),
            [number, "nsecs/op"] => (*number, TIME, 1.0),
            [number, "GB/sec"] => (*number, BANDWIDTH, GIB),
            [number, "MB/sec"] => (*number, BANDWIDTH, GIB / 1024.0),
            ["Averaged", number, "operations/sec", ..] => (*number, RATE, 1.0),
            ["Total", "time:", number, "[sec]"] => {
                let seconds = amount(number).ok_or_else(|| not_a_number(number))?;
                self.elapsed = Some(seconds * 1e9);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let number = amount(text).ok_or_else(|| not_a_number(text))?;
        // The first figure counts: operations per second follow the time of one.
        if self.figure.is_none() {
            self.figure = Some(of_number(&self.point, metric, number * factor));
        }
        Ok(())
    }

    /// The benchmark's result: its figure, else its whole time.
    fn close(self) -> ToolResult {
        let Self { line, point, elapsed, figure } = self;
        let whole = || elapsed.map(|elapsed| of_number(&point, ELAPSED, elapsed));
        figure.or_else(whole).unwrap_or_else(|| {
            let reason = format!("oscost knows no figure in its output, from line {line} on");
            failed(&point, TIME, &reason)
        })
    }
}

fn not_a_number(text: &str) -> String {
    format!("{text:?} is not a number")
}

/// The name in a heading: `'sched/pipe' benchmark:`, or, as `perf bench all` prints it, `sched/pipe benchmark...`.
fn benchmark(heading: &str) -> Option<&str> {
    let plain = || heading.split_once(" benchmark").map(|(name, _)| name.trim());
    quoted(heading).or_else(|| plain().filter(|name| name.contains('/') && !name.contains(' ')))
}

/// The text between the first quotes.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    rest.split_once('\'').map(|(name, _)| name).filter(|name| !name.is_empty())
}
