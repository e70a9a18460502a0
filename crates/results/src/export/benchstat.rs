//! Go's benchmark text format, which `benchstat` reads: <https://go.dev/design/14313-benchmark-format>.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::format::{Extent, TextFormat};
use crate::document::{CaseResult, Direction, Document, Outcome};

/// Go's benchmark format.
pub const FORMAT: TextFormat = TextFormat {
    name: "benchstat",
    about: "Go's benchmark format, which benchstat reads",
    extent: Extent::All,
    write: to_benchstat,
};

/// The results in Go's benchmark format: one line for each round's value, so that `benchstat` uses the variance between
/// fresh processes.
///
/// `time` has its own unit (`ns/op`), and `cycles/op` beside it if the core's cycles were counted; any other metric gets
/// the unit `metric-unit`, such as `p99-ns`. A result that was not measured is a line that begins with `#`, which readers
/// of the format ignore.
pub fn to_benchstat(document: &Document) -> String {
    let mut text = header(&document.machine);
    if let Some(tool) = document.other_tool() {
        push_line(&mut text, format_args!("# measured by {}", words(tool)));
    }
    let mut declared_units = BTreeSet::new();
    for result in &document.results {
        let result = result.sound();
        if result.outcome == Outcome::Measured {
            push_unit(&mut text, &result, &mut declared_units);
            push_rounds(&mut text, &result);
        } else {
            push_note(&mut text, &result);
        }
    }
    text
}

/// The header, which applies to every line. It has only four keys, because `benchstat` compares nothing across lines that
/// differ in any key.
fn header(machine: &Map<String, Value>) -> String {
    let fact =
        |key: &str| machine.get(key).and_then(Value::as_str).filter(|text| *text != "unknown");
    let goarch = |arch: &str| match arch {
        "x86_64" => "amd64".to_owned(),
        "aarch64" => "arm64".to_owned(),
        other => words(other),
    };
    let os = fact("os").map(|os| words(os).to_lowercase());
    let lines = [
        ("goos", os),
        ("goarch", fact("arch").map(goarch)),
        ("pkg", Some("oscost".to_owned())),
        ("cpu", fact("cpu").map(words)),
    ];
    let mut text = String::new();
    for (key, value) in lines {
        if let Some(value) = value {
            push_line(&mut text, format_args!("{key}: {value}"));
        }
    }
    text
}

/// Declares once each unit with `better=higher`; `benchstat` assumes lower.
fn push_unit(text: &mut String, result: &CaseResult, declared: &mut BTreeSet<String>) {
    let unit = unit(result);
    if result.better == Direction::Higher && !declared.contains(&unit) {
        push_line(text, format_args!("Unit {unit} better=higher"));
        declared.insert(unit);
    }
}

fn push_rounds(text: &mut String, result: &CaseResult) {
    let (name, unit) = (benchmark_name(result), unit(result));
    let rounds = u64::from(result.rounds.max(1));
    let samples_a_round = result.samples.saturating_add(rounds / 2) / rounds;
    let iterations = samples_a_round.max(1);
    let median = result.estimate.map(|estimate| estimate.median);
    let values = match result.round_values.as_slice() {
        [] => median.as_slice(),
        values => values,
    };
    let cycles_per_ns = result.cycles_per_ns().filter(|_| result.metric == "time");
    for value in values {
        let cycles = cycles_per_ns.map(|factor| value * factor).filter(|c| c.is_finite());
        let cycles = cycles.map(|cycles| format!(" {cycles} cycles/op")).unwrap_or_default();
        push_line(text, format_args!("{name} {iterations} {value} {unit}{cycles}"));
    }
}

fn push_note(text: &mut String, result: &CaseResult) {
    let reason = words(result.reason.as_deref().unwrap_or_default());
    let label = words(&result.label());
    let metric = match result.metric.as_str() {
        "time" => String::new(),
        metric => format!(" {}", words(metric)),
    };
    push_line(text, format_args!("# {label}{metric}: {}: {reason}", result.outcome.word()));
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

/// The name of a benchmark: `BenchmarkSyscallGetppid/as=threads/workers=2`.
fn benchmark_name(result: &CaseResult) -> String {
    let mut name = format!("Benchmark{}", camel_case(&result.case));
    for (key, value) in &result.params {
        name.push('/');
        name.push_str(&sanitised(key));
        name.push('=');
        name.push_str(&sanitised(value));
    }
    without_cpu_suffix(name)
}

fn unit(result: &CaseResult) -> String {
    let unit: String =
        result.unit.chars().map(|c| if plain(c) || c == '/' { c } else { '_' }).collect();
    match result.metric.as_str() {
        "time" => unit,
        metric => format!("{}-{unit}", sanitised(metric)),
    }
}

fn camel_case(case: &str) -> String {
    let mut name = String::new();
    for word in case.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.+-:,%".contains(c)
}

fn sanitised(text: &str) -> String {
    text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

/// Removes a final number such as `-8`, which means GOMAXPROCS in this format and must not come from a parameter.
fn without_cpu_suffix(mut name: String) -> String {
    if let Some(dash) = name.rfind('-') {
        let tail = &name[dash + 1..];
        if !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit()) {
            name.replace_range(dash..=dash, "_");
        }
    }
    name
}

/// `text` on one line, with single spaces.
fn words(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    words.join(" ")
}
