//! Files in hyperfine's formats, which its scripts and other programs read.

use report::page::Page;
use report::quantity::format_time;
use serde_json::{Value, json};

use super::figures::Evidence;
use super::order::Run;
use platform::process::command::Exit;

/// A command with what its export says besides the runs.
pub struct Exported<'a> {
    /// The command line, or the name that the user gave it.
    pub name: &'a str,
    /// The values that parameters have in it.
    pub parameters: &'a [(String, String)],
    /// Its runs.
    pub evidence: &'a Evidence,
}

/// hyperfine's JSON: times in seconds, of each run and summarised. The fields are those of its versions 1 (`times`, `mean`) and
/// 2 (`measurements`, `summary`).
pub fn hyperfine_json(all: &[Exported]) -> Value {
    let with_runs = all.iter().filter(|one| one.evidence.ending.is_none());
    let results: Vec<Value> = with_runs.filter_map(of_command).collect();
    json!({ "schema_version": 2, "primary_metric": "time_wall_clock", "results": results })
}

fn of_command(one: &Exported) -> Option<Value> {
    let runs: Vec<&Run> = one.evidence.runs().collect();
    let times: Vec<f64> = runs.iter().map(|run| seconds(run.ns)).collect();
    let mut ascending = times.clone();
    ascending.sort_unstable_by(f64::total_cmp);
    let (least, most) = (*ascending.first()?, *ascending.last()?);
    let mean = mean(&times);
    let cpu = |part: usize| {
        let values: Option<Vec<f64>> =
            runs.iter().map(|run| run.cpu_ns.map(|parts| seconds(parts[part]))).collect();
        values.map(|values| self::mean(&values))
    };
    let memory: Option<Vec<u64>> = runs.iter().map(|run| run.max_resident).collect();
    let (median, deviation) = (measure::stats::median(&mut ascending), deviation(&times, mean));
    let measurement = |run: &&Run| {
        json!({
            "time_wall_clock": {"value": seconds(run.ns), "unit": "second"},
            "exit_code": exit_code(run.exit),
        })
    };
    let summary = json!({
        "unit": "second", "count": times.len(),
        "mean": mean, "stddev": deviation, "median": median, "min": least, "max": most,
    });
    let mut value = json!({
        "command": one.name,
        "measurements": runs.iter().map(measurement).collect::<Vec<_>>(),
        "summary": {"time_wall_clock": summary},
        "mean": mean,
        "stddev": deviation,
        "median": median,
        "user": cpu(0),
        "system": cpu(1),
        "min": least,
        "max": most,
        "times": times,
        "exit_codes": runs.iter().map(|run| exit_code(run.exit)).collect::<Vec<_>>(),
    });
    if let Some(memory) = memory {
        value["memory_usage_byte"] = json!(memory);
    }
    if !one.parameters.is_empty() {
        let parameters = one.parameters.iter().map(|(name, text)| (name.clone(), json!(text)));
        value["parameters"] = Value::Object(parameters.collect());
    }
    Some(value)
}

/// The exit code as hyperfine has it: none for a run that was killed.
fn exit_code(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) | Exit::TimeLimit => None,
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation of a sample; `None` for a single value.
fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The text as a code span in one line of a table (CommonMark 0.31, 6.1: a longer fence holds shorter ones).
fn code_span(text: &str) -> String {
    let text = report::text::clean(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A Markdown table: the median with its interval, the extremes, and the ratio to the command with the lowest median.
pub fn markdown(all: &[Exported], seed: u64) -> String {
    let mut text = "| Command | Time | 95 % interval | Min | Max | Relative |\n|:---|---:|---:|---:|---:|---:|\n".to_owned();
    let fastest = all
        .iter()
        .filter_map(|one| one.evidence.time(seed))
        .map(|time| time.median)
        .fold(f64::INFINITY, f64::min);
    for one in all {
        let name = code_span(one.name);
        let Some(time) = one.evidence.time(seed).filter(|_| one.evidence.ending.is_none()) else {
            let reason = one.evidence.ending.as_ref().map_or("", |(_, reason)| reason);
            text.push_str(&format!("| {name} | {reason} | | | | |\n"));
            continue;
        };
        let extremes = one.evidence.runs().map(|run| run.ns as f64);
        let (least, most) = extremes
            .fold((f64::INFINITY, 0.0f64), |(least, most), ns| (least.min(ns), most.max(ns)));
        let about = |ns: f64| format_time(ns, ns * 0.005);
        let page = Page { width: 100, colour: false, unicode: true, this_run: false };
        let interval = match time.low.is_finite() && time.high.is_finite() {
            true => format!("{} … {}", about(time.low), about(time.high)),
            false => "few runs".to_owned(),
        };
        text.push_str(&page.signs(&format!(
            "| {name} | {} | {interval} | {} | {} | {:.2} |\n",
            about(time.median),
            about(least),
            about(most),
            time.median / fastest
        )));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::time::figures::Turn;

    fn evidence(times_ms: &[f64]) -> Evidence {
        let run = |ms: &f64| Run {
            ns: (ms * 1e6) as u64,
            exit: if *ms > 9.0 { Exit::Signal(9) } else { Exit::Code(0) },
            left: false,
            cpu_ns: Some([1_000_000, 3_000_000]),
            max_resident: Some(4_096),
            switches: [None, None],
            page_faults: None,
            syscalls: None,
        };
        let point = runner::Point { case: "time/command".into(), params: BTreeMap::new() };
        let turns = times_ms.iter().map(|ms| Turn { started_ms: 0, runs: vec![run(ms)] });
        Evidence { turns: turns.collect(), ..Evidence::new(point) }
    }

    #[test]
    fn the_json_is_hyperfines() {
        let evidence = evidence(&[2.0, 4.0, 12.0]);
        let parameters = [("n".to_owned(), "1".to_owned())];
        let json = hyperfine_json(&[Exported {
            name: "a 1",
            parameters: &parameters,
            evidence: &evidence,
        }]);
        let result = &json["results"][0];
        assert_eq!(result["command"], "a 1");
        for (name, value) in [
            ("mean", 0.006),
            ("median", 0.004),
            ("min", 0.002),
            ("max", 0.012),
            ("user", 0.001),
            ("system", 0.003),
        ] {
            assert!((result[name].as_f64().unwrap() - value).abs() < 1e-12, "{name}: {result}");
        }
        // The squares of the distances from 6 are 16, 4 and 36.
        assert!(
            (result["stddev"].as_f64().unwrap() - 0.028f64.sqrt() / 31.622_776_6).abs() < 1e-6,
            "{result}"
        );
        assert_eq!(result["times"], json!([0.002, 0.004, 0.012]));
        assert_eq!(result["measurements"][1]["time_wall_clock"]["value"], 0.004);
        assert_eq!(result["summary"]["time_wall_clock"]["median"], 0.004);
        // hyperfine 2's scripts print the number of runs.
        assert_eq!(result["summary"]["time_wall_clock"]["count"], 3);
        assert_eq!(result["exit_codes"], json!([0, 0, null]));
        assert_eq!(result["parameters"], json!({"n": "1"}));
    }

    #[test]
    fn the_markdown_table_has_a_line_for_each_command() {
        let (fast, slow) = (evidence(&[2.0, 2.0, 2.0]), evidence(&[4.0, 4.0, 8.0]));
        let of = |name, evidence| Exported { name, parameters: &[], evidence };
        let text = markdown(&[of("a | b", &fast), of("c", &slow)], 7);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[2].starts_with(r"| `a \| b` | 2.00 ms |") && lines[2].ends_with("| 1.00 |"),
            "{text}"
        );
        assert!(lines[3].ends_with("| 2.00 |"), "{text}");
    }
}
