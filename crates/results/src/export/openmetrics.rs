//! Text for the textfile collector of Prometheus's node_exporter, which is OpenMetrics 1.0 too:
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::fmt::Write;

use super::format::{Extent, TextFormat};
use crate::check::parse_time;
use crate::document::{CaseResult, Document, Outcome};

/// OpenMetrics text.
pub const FORMAT: TextFormat = TextFormat {
    name: "openmetrics",
    about: "Prometheus text for node_exporter, the first page's points",
    extent: Extent::FirstPage,
    write: to_openmetrics,
};

/// A metric in base units, with its unit in the name.
struct Unit {
    /// End of the name, such as `seconds`.
    suffix: String,
    /// Factor from the result's unit.
    factor: f64,
}

/// A family of samples: all have one name, type and unit.
struct Family {
    name: String,
    unit: Option<String>,
    help: String,
    samples: Vec<(String, f64)>,
}

/// The families of a text, in the order of their first sample.
#[derive(Default)]
struct Families(Vec<Family>);

/// Gauges without timestamps, which the collector rejects: the time of the run is a value.
///
/// Each figure has gauges for itself and for both ends of its interval; `oscost_doubtful` and `oscost_failed` are 0 or 1 for
/// each figure, so that no label changes with the outcome and a series goes on. The run's id is no label, because each run
/// would begin new series.
fn to_openmetrics(document: &Document) -> String {
    let mut families = Families::default();
    families.add_run(document);
    for result in &document.results {
        let result = result.sound();
        if result.outcome != Outcome::Unsupported {
            families.add_result(&result);
        }
    }
    families.text()
}

impl Families {
    fn add_run(&mut self, document: &Document) {
        let fact = |key: &str| document.machine.get(key).and_then(|value| value.as_str());
        let facts = [
            ("oscost", Some(document.run.oscost.as_str())),
            ("os", fact("os")),
            ("release", fact("release")),
            ("arch", fact("arch")),
            ("cpu", fact("cpu")),
            ("system", document.system()),
            ("other_tool", document.other_tool()),
        ];
        let known = facts.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let labels = labels(&known.collect::<Vec<_>>());
        self.add("oscost_run_info", None, "Facts about the run, as labels.", labels, 1.0);
        let ends = [
            ("start", "began", Some(&document.run.started)),
            ("end", "ended", document.run.finished.as_ref()),
        ];
        for (end, said, time) in ends {
            let Some(time) = time.and_then(|time| parse_time(time)) else { continue };
            let name = format!("oscost_run_{end}_timestamp_seconds");
            let help = format!("When the run {said}, in seconds since 1970.");
            let seconds = time.as_millisecond() as f64 / 1e3;
            self.add(&name, Some("seconds"), &help, String::new(), seconds);
        }
    }

    fn add_result(&mut self, result: &CaseResult) {
        let params: Vec<String> = result.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let params = params.join(",");
        let point = [("case", result.case.as_str()), ("params", params.as_str())];
        let of_metric = [point[0], point[1], ("metric", result.metric.as_str())];
        let failed = result.outcome != Outcome::Measured;
        let help = "1 if the metric of the point could not be measured, else 0.";
        self.add("oscost_failed", None, help, labels(&of_metric), f64::from(u8::from(failed)));
        let Some(figure) = result.figure() else { return };
        let doubtful = result.doubts.iter().any(|doubt| doubt.mark().is_some());
        let help = "1 if the interval of the figure may be wrong, else 0.";
        self.add("oscost_doubtful", None, help, labels(&of_metric), f64::from(u8::from(doubtful)));
        let Unit { suffix, factor } = unit(&result.unit);
        let metric = plain(&result.metric);
        let values = [
            ("", "median over rounds", figure.median),
            ("_low", "lower end of its interval", figure.low),
            ("_high", "upper end of its interval", figure.high),
        ];
        for (end, said, value) in values {
            let value = value * factor;
            if value.is_finite() {
                let name = format!("oscost_{metric}{end}_{suffix}");
                let help = format!("Metric {} of the point, {said}.", result.metric);
                self.add(&name, Some(&suffix), &help, labels(&point), value);
            }
        }
    }

    fn add(&mut self, name: &str, unit: Option<&str>, help: &str, labels: String, value: f64) {
        let known = self.0.iter_mut().find(|family| family.name == name);
        if let Some(family) = known {
            // Metrics whose names differ in characters that are not allowed here would have the same name.
            if !family.samples.iter().any(|(known, _)| *known == labels) {
                family.samples.push((labels, value));
            }
            return;
        }
        self.0.push(Family {
            name: name.to_owned(),
            unit: unit.map(str::to_owned),
            help: help.to_owned(),
            samples: vec![(labels, value)],
        });
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("writing to a String cannot fail");
        };
        for Family { name, unit, help, samples } in &self.0 {
            line(format_args!("# TYPE {name} gauge"));
            if let Some(unit) = unit {
                line(format_args!("# UNIT {name} {unit}"));
            }
            line(format_args!("# HELP {name} {}", escaped(help)));
            for (labels, value) in samples {
                line(format_args!("{name}{labels} {value}"));
            }
        }
        line(format_args!("# EOF"));
        text
    }
}

/// The base unit of a unit, as Prometheus names it.
fn unit(unit: &str) -> Unit {
    let (suffix, factor) = match unit {
        "ns/op" | "ns" => ("seconds".to_owned(), 1e-9),
        "share" => ("ratio".to_owned(), 1.0),
        "%" => ("ratio".to_owned(), 0.01),
        _ => match unit.split_once('/') {
            Some((of, "s")) => (format!("{}_per_second", plain(of)), 1.0),
            Some((of, to)) => (format!("{}_per_{}", plain(of), plain(to)), 1.0),
            None => (plain(unit), 1.0),
        },
    };
    Unit { suffix, factor }
}

/// The text with only those characters that names of metrics have.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    text.chars().map(plain).collect()
}

fn labels(labels: &[(&str, &str)]) -> String {
    let known = labels.iter().filter(|(_, value)| !value.is_empty());
    let list: Vec<String> =
        known.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if list.is_empty() { String::new() } else { format!("{{{}}}", list.join(",")) }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
