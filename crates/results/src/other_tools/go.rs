//! Go's benchmark text, which `go test -bench` prints: <https://go.dev/design/14313-benchmark-format>. Lines with the same name
//! are repetitions; whether in one process (`-count`) or in several, the text does not say.

use std::collections::BTreeMap;

use measure::Direction;
use measure::doubt::OtherSpread;

use super::figures::{TIME, failed, of_values};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun, error};
use super::names;
use crate::document::MachineFacts;
use crate::import::ImportError;
use crate::point::PointKey;

/// Go's text.
pub const FORMAT: ToolFormat =
    ToolFormat { name: "go", about: "text of go test -bench", reads: Reads::Text(run) };

/// Values of a benchmark in one unit.
struct Series {
    point: PointKey,
    unit: String,
    values: Vec<f64>,
}

#[derive(Default)]
struct Reader {
    series: Vec<Series>,
    failed: Vec<PointKey>,
    better: BTreeMap<String, Direction>,
    machine: MachineFacts,
    package: Option<String>,
    packages: Vec<String>,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(line.trim_end()).map_err(|problem| error(number, problem))?;
    }
    if reader.series.is_empty() && reader.failed.is_empty() {
        return Err(error(
            1,
            "no line of it is a benchmark's, such as `BenchmarkX-8 1000 52.1 ns/op`",
        ));
    }
    Ok(reader.into_run())
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(name) = line.trim_start().strip_prefix("--- FAIL: Benchmark") {
            let name = name.split_whitespace().next().unwrap_or_default();
            let point = self.point(name);
            self.failed.push(point);
        } else if line.starts_with("Benchmark") {
            return self.benchmark(line);
        } else if let Some(unit) = line.strip_prefix("Unit ") {
            self.unit(unit);
        } else if let Some((key, value)) = line.split_once(": ") {
            self.fact(key, value.trim());
        }
        Ok(())
    }

    fn fact(&mut self, key: &str, value: &str) {
        let (key, value) = match (key, value) {
            ("pkg", package) => {
                self.packages.extend(
                    (!self.packages.iter().any(|p| p == package)).then(|| package.to_owned()),
                );
                self.package = Some(package.to_owned());
                return;
            }
            ("goos", "linux") => ("os", "Linux"),
            ("goos", "windows") => ("os", "Windows"),
            ("goos", other) => ("os", other),
            ("goarch", "amd64") => ("arch", "x86_64"),
            ("goarch", "arm64") => ("arch", "aarch64"),
            ("goarch", other) => ("arch", other),
            ("cpu", cpu) => ("cpu", cpu),
            _ => return,
        };
        self.machine.insert(key.to_owned(), value.into());
    }

    /// `ns/op better=lower`.
    fn unit(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let unit = words.next().unwrap_or_default().to_owned();
        for word in words {
            match word {
                "better=higher" => drop(self.better.insert(unit.clone(), Direction::Higher)),
                "better=lower" => drop(self.better.insert(unit.clone(), Direction::Lower)),
                _ => {}
            }
        }
    }

    /// `BenchmarkX/size=64-8  1000  52.1 ns/op  0 B/op`.
    fn benchmark(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().trim_start_matches("Benchmark");
        let Some(count) = words.next() else {
            // `go test -v` prints the name in a line of its own before it runs the benchmark.
            return Ok(());
        };
        if !count.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("{count:?} is not the number of iterations of a benchmark"));
        }
        let rest: Vec<&str> = words.collect();
        if rest.is_empty() || rest.len() % 2 == 1 {
            return Err("the values and units of a benchmark are not in pairs".to_owned());
        }
        let point = self.point(name);
        for pair in rest.chunks(2) {
            let (text, unit) = (pair[0], pair[1]);
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| format!("{text:?} is not a value in {unit}"))?;
            let known =
                self.series.iter_mut().find(|known| known.point == point && known.unit == unit);
            match known {
                Some(series) => series.values.push(value),
                None => self.series.push(Series {
                    point: point.clone(),
                    unit: unit.to_owned(),
                    values: vec![value],
                }),
            }
        }
        Ok(())
    }

    /// The point of a name without `Benchmark`: parts such as `size=64` are parameters, and so is the number of processors.
    fn point(&self, name: &str) -> PointKey {
        let (name, processors) = match name.rsplit_once('-') {
            Some((name, count))
                if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) =>
            {
                (name, Some(count))
            }
            _ => (name, None),
        };
        let (params, parts): (Vec<&str>, Vec<&str>) = name
            .split('/')
            .partition(|part| part.split_once('=').is_some_and(|(key, _)| !key.is_empty()));
        let mut point = names::point(FORMAT.name, &parts.join("/"), "name");
        let params = params.into_iter().filter_map(|part| part.split_once('='));
        let own = params.chain(processors.map(|count| ("procs", count)));
        let package = self.package.as_deref().map(|package| ("pkg", package));
        for (key, value) in own.chain(package) {
            point.params.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        point
    }

    fn into_run(mut self) -> ToolRun {
        let is_one_package = self.packages.len() < 2;
        let tidy = |mut point: PointKey| {
            if is_one_package {
                point.params.remove("pkg");
            }
            point
        };
        let measured = std::mem::take(&mut self.series).into_iter().filter_map(|series| {
            let Series { point, unit, mut values } = series;
            let (metric, unit, better, factor) = self.metric(&unit);
            values.iter_mut().for_each(|value| *value *= factor);
            of_values(&tidy(point), (&metric, &unit, better), values, OtherSpread::Repetitions)
        });
        let mut results: Vec<ToolResult> = measured.collect();
        results
            .extend(self.failed.into_iter().map(|point| failed(&tidy(point), TIME, "it failed")));
        ToolRun { machine: self.machine, results, ..ToolRun::default() }
    }

    /// Name, unit and direction of a metric, and the factor that converts its values.
    fn metric(&self, unit: &str) -> (String, String, Direction, f64) {
        let (metric, ours, better, factor) = match unit {
            "ns/op" => ("time", "ns/op", Direction::Lower, 1.0),
            "MB/s" => ("bandwidth", "bytes/s", Direction::Higher, 1e6),
            "B/op" => ("allocated", "bytes", Direction::Lower, 1.0),
            "allocs/op" => ("allocations", "allocations", Direction::Lower, 1.0),
            other => (other, other, Direction::Neither, 1.0),
        };
        let better = self.better.get(unit).copied().unwrap_or(better);
        (metric.to_owned(), ours.to_owned(), better, factor)
    }
}
