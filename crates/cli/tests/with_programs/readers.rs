//! Formats of other tools: the tools themselves read what oscost writes.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::exported::{document, result, with_run, written_by};
use crate::common::needs::{self, folder_of_readers};
use crate::common::{Bench, CASE, Said, entries, run, skip_unless};

/// Runs a program of the readers in the folder of the bench.
fn reader(bench: &Bench, program: &str, arguments: &[&str]) -> Said {
    let mut command = Command::new(folder_of_readers().join("bin").join(program));
    run(command.args(arguments).current_dir(bench.path(".")))
}

/// Runs a Python script, whose output is JSON.
fn python(bench: &Bench, script: &str) -> Value {
    reader(bench, "python", &["-c", script]).with(0).json()
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value}, expected {expected}");
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().expect("an array").iter().map(|v| v.as_f64().expect("a number")).collect()
}

#[test]
fn pyperf_reads_each_round_as_a_process() {
    skip_unless!(needs::readers());
    let (bench, document) = with_run();
    bench.oscost("export --format pyperf -o ours.json").with(0);
    let read = python(
        &bench,
        "import json, pyperf
suite = pyperf.BenchmarkSuite.load('ours.json')
print(json.dumps({b.get_name(): [b.get_unit(), b.get_nrun(), list(b.get_values())] for b in suite}))",
    );
    let rounds = numbers(&result(&document, CASE, "time")["round_values"]);
    let [unit, runs, values] = &read[CASE].as_array().expect("a benchmark")[..] else { panic!() };
    assert_eq!((unit.as_str(), runs.as_u64()), (Some("second"), Some(rounds.len() as u64)));
    for (value, round) in values.as_array().expect("values").iter().zip(&rounds) {
        close(value, round / 1e9);
    }
    reader(&bench, "python", &["-m", "pyperf", "stats", "ours.json"])
        .with(0)
        .says(&[CASE, &format!("Number of run with values: {}", rounds.len())]);
    let table = ["-m", "pyperf", "compare_to", "ours.json", "ours.json", "--table", "-v"];
    reader(&bench, "python", &table).with(0);
}

#[test]
fn hyperfine_s_scripts_read_each_round_as_a_run() {
    skip_unless!(needs::readers());
    let (bench, document) = with_run();
    bench.oscost(&format!("export --format hyperfine --only {CASE},getppid -o all.json")).with(0);
    let script =
        |name: &str| folder_of_readers().join("hyperfine").join(name).display().to_string();
    let statistics = script("advanced_statistics.py");
    let said = reader(&bench, "python", &[&statistics, "all.json", "--time-unit", "millisecond"]);
    let said = said.with(0).out;
    let (_, of_case) = said.split_once(&format!("Command '{CASE}'")).expect("our point");
    let rounds = numbers(&result(&document, CASE, "time")["round_values"]);
    let runs: Vec<&str> = of_case.lines().nth(1).expect("a line").split_whitespace().collect();
    assert_eq!(runs, ["runs:", &rounds.len().to_string()]);
    // The test of Welch takes a file with two commands.
    let mut two: Value = bench.oscost("export --format hyperfine").with(0).json();
    let times = two["results"].as_array_mut().expect("results");
    times.retain(|time| time["command"] != format!("{CASE} step"));
    bench.write("two.json", &two.to_string());
    reader(&bench, "python", &[&script("welch_ttest.py"), "two.json"]).with(0).says(&["p = "]);

    // The program that runs commands writes the same format.
    bench.oscost("time --runs 3 --export-json commands.json -N true").with(0);
    let said = reader(&bench, "python", &[&statistics, "commands.json"]).with(0).out;
    assert!(said.contains("Command 'true'\n  runs:          3"), "{said}");

    let ours = bench.oscost("export run-00 --format hyperfine").with(0).json();
    let ours = ours["results"].as_array().expect("results").iter();
    let ours = ours.clone().find(|time| time["command"] == CASE).expect("our point");
    close(&ours["mean"], rounds.iter().sum::<f64>() / rounds.len() as f64 / 1e9);
    // What is imported from it has the same values.
    bench.oscost("import --from hyperfine all.json").with(0);
    let again = bench.oscost("export").with(0).json();
    let again = &again["results"].as_array().expect("results")[0];
    assert_eq!(numbers(&again["round_values"]).len(), rounds.len());
    close(&again["round_values"][0], rounds[0]);
}

#[test]
fn prometheus_s_parsers_read_the_first_page_or_all() {
    skip_unless!(needs::readers());
    let (bench, document) = with_run();
    // A reader that has the old file open keeps it as it was, because the new one is renamed to its name.
    bench.write("oscost.prom", "# the old file\n");
    std::fs::hard_link(bench.path("oscost.prom"), bench.path("old")).expect("a link");
    bench.oscost("export --format openmetrics -o oscost.prom").with(0);
    assert_eq!(bench.text("old"), "# the old file\n");
    let names = entries(&bench.path("."));
    assert!(names.iter().all(|name| !name.ends_with(".part")), "{names:?}");
    bench.oscost("export --format openmetrics --all -o all.prom").with(0);
    let read = python(
        &bench,
        "import json, prometheus_client.parser as text, prometheus_client.openmetrics.parser as om
def samples(parser, name):
    with open(name) as f:
        families = list(parser.text_string_to_metric_families(f.read()))
    return [[s.name, s.labels, s.value, s.timestamp] for f in families for s in f.samples]
print(json.dumps({name: [samples(text, name), samples(om, name)] for name in ('oscost.prom', 'all.prom')}))",
    );
    let time = result(&document, "syscall/getppid", "time");
    let median = time["estimate"]["median"].as_f64().expect("a median");
    for parser in 0..2 {
        let of = |file: &str| read[file][parser].as_array().expect("samples").clone();
        let (first, all) = (of("oscost.prom"), of("all.prom"));
        assert!(first.len() < all.len(), "{} and {}", first.len(), all.len());
        assert!(all.iter().all(|sample| sample[3].is_null()), "a timestamp: {all:?}");
        let find = |samples: &[Value], name: &str, labels: &Value| {
            let found =
                samples.iter().find(|s| s[0] == name && (labels.is_null() || s[1] == *labels));
            found.map(|sample| sample[2].clone())
        };
        let point = json!({"case": "syscall/getppid"});
        close(&find(&first, "oscost_time_seconds", &point).expect("the figure"), median / 1e9);
        let end = |end: &str| find(&first, &format!("oscost_time_{end}_seconds"), &point);
        close(&end("low").expect("its interval"), 71.6e-9);
        close(&end("high").expect("its interval"), 72.4e-9);
        let labels = json!({"case": "syscall/getppid", "metric": "time"});
        assert_eq!(find(&first, "oscost_failed", &labels), Some(json!(0)));
        assert_eq!(find(&first, "oscost_doubtful", &labels), Some(json!(0)));
        let info = json!({
            "oscost": "0.1.0", "os": "Linux", "release": "6.1.0", "arch": "x86_64", "cpu": "A \"quoted\" one",
        });
        assert!(find(&first, "oscost_run_info", &info).is_some(), "{first:?}");
        let gone = json!({"case": "lock/sysv-sem", "metric": "time"});
        assert_eq!(find(&all, "oscost_failed", &gone), Some(json!(1)));
        let start = find(&first, "oscost_run_start_timestamp_seconds", &Value::Null);
        close(&start.expect("when it began"), 1_767_225_600.0);
        let step = json!({"case": CASE, "metric": "step"});
        assert!(find(&first, "oscost_failed", &step).is_none(), "not on the first page");
        assert_eq!(find(&all, "oscost_doubtful", &step), Some(json!(1)));
    }
}

/// Thirty runs a day apart, from the 16th of which `time` takes 20 % longer; one lacks the other case.
fn series(bench: &Bench, document: &Value) {
    for run in 0..30 {
        let mut document = document.clone();
        document["run"]["id"] = format!("run-{run:02}").into();
        document["run"]["started"] = format!("2026-01-{:02}T00:00:00Z", run + 1).into();
        document["run"]["finished"] = format!("2026-01-{:02}T00:01:00Z", run + 1).into();
        let results = document["results"].as_array_mut().expect("results");
        for result in results.iter_mut().filter(|result| result["case"] == CASE) {
            let jitter = 1.0 + f64::from(run * 7 % 5) / 1e3;
            let factor = if run < 15 { jitter } else { 1.2 * jitter };
            // Only the figures that are written; an estimate without an interval is valid.
            let median = result["estimate"]["median"].as_f64().expect("a median") * factor;
            result["estimate"] = json!({"median": median, "level": 0.95});
        }
        if run == 4 {
            results.retain(|result| result["case"] == CASE);
        }
        bench.write("one.json", &document.to_string());
        bench.oscost("import one.json").with(0);
    }
}

#[test]
fn otava_finds_the_run_in_which_a_figure_changed() {
    skip_unless!(needs::readers());
    let bench = Bench::new();
    series(&bench, &document());
    // A run of another tool is no run of this series.
    bench.oscost(&format!("import --from go {}", written_by("go.txt"))).with(0);
    bench
        .oscost(&format!("export run-29 --only {CASE},getppid --format otava -o perf"))
        .with(0)
        .complains(&["30 runs"]);
    let arguments = "analyze oscost --config-file perf/otava.yaml --since 2025-12-01 --output json";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let said = reader(&bench, "otava", &arguments).with(0).out;
    // One document for each test.
    let found: Vec<Value> = serde_json::Deserializer::from_str(&said)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|e| panic!("{e}: {said}"));
    let changes = found.iter().flat_map(|test| test.as_object().expect("tests").values());
    let changes = changes.flat_map(|changes| changes.as_array().expect("changes"));
    let changes: Vec<(&Value, &Value)> = changes
        .flat_map(|of_run| {
            let changes = of_run["changes"].as_array().expect("changes").iter();
            changes.map(|change| (&of_run["attributes"]["run"], &change["metric"]))
        })
        .collect();
    let expected = [json!(format!("{CASE} (ns/op)")), json!(format!("{CASE} step (ns)"))];
    let run = json!("run-15");
    assert_eq!(changes, [(&run, &expected[0]), (&run, &expected[1])], "{said}");
    // The case that one run lacks is in a file without that run.
    let rows = |file: &str| {
        let text = std::fs::read_to_string(bench.path("perf").join(file)).expect("a CSV");
        (text.lines().count() - 1, text.contains("syscall/getppid"), text.contains("run-04"))
    };
    assert_eq!(rows("oscost-1.csv"), (30, false, true));
    assert_eq!(rows("oscost-2.csv"), (29, true, false));
    // The tag is an attribute, by which Otava selects runs.
    let header = bench.text("perf/oscost-1.csv");
    assert!(header.starts_with("time,run,oscost,kernel,commit,"), "{header}");
}
