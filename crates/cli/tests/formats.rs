//! Formats of other tools: what oscost writes is read by the tools themselves, and what they wrote is imported.
#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Bench, CASE, Said, finish};
use serde_json::{Value, json};

/// The folder with the readers, where `scripts/install-test-needs` puts them.
fn readers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers")
}

/// Whether the readers are missing, so that the test must return.
#[track_caller]
fn no_readers() -> bool {
    let is_there = readers().join("bin/python").exists() && readers().join("hyperfine").exists();
    testing::skip_unless(is_there, "needs pyperf, Otava and other readers in target/readers")
}

/// Runs a program of the readers in the folder of the bench.
fn reader(bench: &Bench, program: &str, arguments: &[&str]) -> Said {
    let mut command = Command::new(readers().join("bin").join(program));
    command
        .args(arguments)
        .current_dir(bench.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(&mut command)
}

/// Runs a Python script, whose output is JSON.
fn python(bench: &Bench, script: &str) -> Value {
    reader(bench, "python", &["-c", script]).with(0).json()
}

/// A file that another tool wrote.
fn written_by(tool: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/data/other_tools");
    format!("{data}/{tool}")
}

/// A run with known figures: two times with eight rounds each, of which one has core cycles too, and another metric.
fn document() -> Value {
    let time = |case: &str, median: f64| {
        let offsets = [0.0, 0.4, -0.4, 0.2, -0.2, 0.6, -0.6, 0.0];
        json!({
            "case": case, "metric": "time", "unit": "ns/op", "better": "lower", "outcome": "measured",
            "estimate": {"median": median, "low": median - 0.4, "high": median + 0.4, "level": 0.95},
            "rounds": 8, "samples": 4000,
            "round_values": offsets.map(|offset| median + offset),
        })
    };
    let mut getppid = time("syscall/getppid", 72.0);
    getppid["cycles"] = json!({"median": 288.0, "low": 286.4, "high": 289.6});
    let step = json!({
        "case": CASE, "metric": "step", "unit": "ns", "better": "lower", "outcome": "measured",
        "estimate": {"median": 1.0, "level": 0.95}, "rounds": 1, "doubts": [{"code": "disturbed"}],
    });
    let gone = json!({
        "case": "lock/sysv-sem", "metric": "time", "unit": "ns/op", "better": "lower",
        "outcome": "failed", "reason": "no space | left",
    });
    json!({
        "schema": 1,
        "run": {
            "id": "run-00", "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:01:00Z",
            "seed": 1, "oscost": "0.1.0", "tags": {"commit": "abc"}, "area_seconds": {},
        },
        "machine": {"os": "Linux", "release": "6.1.0", "arch": "x86_64", "cpu": "A \"quoted\" one", "cpus": 2},
        "results": [time(CASE, 25.0), step, getppid, gone],
    })
}

/// A bench with that run in its store, and the document.
fn with_run() -> (Bench, Value) {
    let (bench, document) = (Bench::new(), document());
    bench.write("run.json", &document.to_string());
    bench.oscost("import run.json").with(0);
    (bench, document)
}

/// The result for the metric of a case without parameters.
#[track_caller]
fn result<'d>(document: &'d Value, case: &str, metric: &str) -> &'d Value {
    let results = document["results"].as_array().expect("results");
    let found = results.iter().find(|r| r["case"] == case && r["metric"] == metric);
    found.unwrap_or_else(|| panic!("{case} {metric} is not in {document}"))
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
    if no_readers() {
        return;
    }
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
    let shown = reader(&bench, "python", &["-m", "pyperf", "stats", "ours.json"]).with(0).out;
    assert!(
        shown.contains(CASE)
            && shown.contains(&format!("Number of run with values: {}", rounds.len())),
        "{shown}"
    );
    let table = ["-m", "pyperf", "compare_to", "ours.json", "ours.json", "--table", "-v"];
    reader(&bench, "python", &table).with(0);
}

#[test]
fn hyperfine_s_scripts_read_each_round_as_a_run() {
    if no_readers() {
        return;
    }
    let (bench, document) = with_run();
    bench.oscost(&format!("export --format hyperfine --only {CASE},getppid -o all.json")).with(0);
    let script = |name: &str| readers().join("hyperfine").join(name).display().to_string();
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
    let said = reader(&bench, "python", &[&script("welch_ttest.py"), "two.json"]).with(0).out;
    assert!(said.contains("p = "), "{said}");

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
    if no_readers() {
        return;
    }
    let (bench, document) = with_run();
    // A reader that has the old file open keeps it as it was, because the new one is renamed to its name.
    bench.write("oscost.prom", "# the old file\n");
    std::fs::hard_link(bench.path("oscost.prom"), bench.path("old")).expect("a link");
    bench.oscost("export --format openmetrics -o oscost.prom").with(0);
    assert_eq!(std::fs::read_to_string(bench.path("old")).expect("a file"), "# the old file\n");
    let names = common::entries(&bench.path("."));
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
    if no_readers() {
        return;
    }
    let bench = Bench::new();
    series(&bench, &document());
    // A run of another tool is no run of this series.
    bench.oscost(&format!("import --from go {}", written_by("go.txt"))).with(0);
    bench
        .oscost(&format!("export run-29 --only {CASE},getppid --format otava -o perf"))
        .with(0)
        .complains(&["30 runs"]);
    let arguments = [
        "analyze",
        "oscost",
        "--config-file",
        "perf/otava.yaml",
        "--since",
        "2025-12-01",
        "--output",
        "json",
    ];
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
    let header = std::fs::read_to_string(bench.path("perf/oscost-1.csv")).expect("a CSV");
    assert!(header.starts_with("time,run,oscost,kernel,commit,"), "{header}");
}

/// The formats whose readers no registry has: what their documentation requires.
#[test]
fn bencher_and_github_s_json_have_the_documented_fields() {
    let (bench, document) = with_run();
    let time = result(&document, "syscall/getppid", "time");
    let bencher = bench.oscost("export --format bencher").with(0).json();
    for (name, measures) in bencher.as_object().expect("an object") {
        assert!(!name.is_empty() && name.chars().count() <= 1024);
        for (measure, metric) in measures.as_object().expect("measures") {
            assert!(measure.chars().count() <= 64, "{measure}");
            let metric = metric.as_object().expect("a metric");
            assert!(metric.values().all(Value::is_number), "{metric:?}");
            let allowed = ["value", "lower_value", "upper_value"];
            assert!(
                metric.contains_key("value")
                    && metric.keys().all(|k| allowed.contains(&k.as_str()))
            );
        }
    }
    let latency = &bencher["syscall/getppid"]["latency"];
    assert_eq!(*latency, json!({"value": 72.0, "lower_value": 71.6, "upper_value": 72.4}));
    assert_eq!(bencher[CASE]["step (ns)"], json!({"value": 1.0}), "one round has no interval");
    assert!(bencher.get("lock/sysv-sem").is_none(), "a failure is no figure");

    let smaller = bench.oscost("export --format github-smaller --only getppid").with(0).json();
    let entry = &smaller.as_array().expect("an array")[0];
    assert_eq!(entry["name"], "syscall/getppid");
    assert_eq!((&entry["value"], &entry["unit"]), (&time["estimate"]["median"], &"ns/op".into()));
    assert_eq!((&entry["range"], &entry["extra"]), (&"± 0.6 %".into(), &"rounds: 8".into()));
    let bigger = bench.oscost("export --format github-bigger --only getppid").with(0).json();
    assert_eq!(bigger, json!([]), "a time is not in the file of the other direction");
}

#[test]
fn markdown_has_a_row_for_each_figure() {
    let (bench, _) = with_run();
    let text = bench.oscost("export --format markdown --only getppid").with(0).out;
    assert!(text.contains("\n## syscall\n\n| point | metric | figure | ± | marks |\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("| syscall/getppid | time | "));
    assert!(
        row.is_some_and(|row| row.contains(" ns | ±") && row.matches(" | ").count() == 4),
        "{text}"
    );
}

#[test]
fn results_of_other_tools_are_marked_and_compared_by_pairs() {
    let (bench, _) = with_run();
    let tools = [
        ("hyperfine", "hyperfine-2.json"),
        ("pyperf", "pyperf.json"),
        ("criterion", "criterion"),
        ("go", "go.txt"),
        ("google-benchmark", "google-benchmark.json"),
        ("lmbench", "lmbench.txt"),
        ("perf-bench", "perf-bench.txt"),
    ];
    for (tool, file) in tools {
        let import = format!("import --from {tool} {}", written_by(file));
        bench.oscost(&import).with(0).complains(&["is imported"]);
        bench.oscost(&import).with(0).complains(&["already in the store, unchanged"]);
        for command in
            ["show", "export --format csv", "export --format markdown", "show --doubtful"]
        {
            let said = bench.oscost(command).with(0).out;
            assert!(said.contains(&format!("measured by {tool}")), "{command}: {said}");
        }
        bench.oscost("report -o page.html").with(0);
        let page = std::fs::read_to_string(bench.path("page.html")).expect("a page");
        assert!(page.contains("MEASURED BY ANOTHER TOOL"), "{tool}");
        let prom = bench.oscost("export --format openmetrics").with(0).out;
        assert!(prom.contains(&format!("other_tool=\"{tool}")), "{prom}");
    }
    let compare = |pair: &str, run: &str| {
        let mut command = bench.command("compare last~7");
        finish(command.args([run, "--map", pair]))
    };
    let said = compare("syscall/getppid=perf-bench/syscall-basic", "last").with(0).out;
    assert!(said.contains("matched: syscall/getppid=perf-bench/syscall-basic"), "{said}");
    assert!(said.contains("measured by perf-bench") && said.contains("cannot tell"), "{said}");
    let mut command = bench.command("compare last~7 last~6 --json --map");
    let pair = format!("{CASE}=hyperfine/sleep-0.001{{command=sleep 0.001}}");
    let said = finish(command.arg(&pair)).with(0).json();
    assert_eq!(said["map"], json!([pair]));
    let rows = said["comparisons"][0]["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["case"]), (1, &CASE.into()));
    // A thousand of our clock reads do not take as long as a process that sleeps.
    assert!(rows[0]["new"]["median"].as_f64() > rows[0]["base"]["median"].as_f64(), "{rows:?}");
    for (pair, words) in [
        ("syscall/getppid=perf-bench/nosuch", "has no point perf-bench/nosuch"),
        ("syscall/getppid=perf-bench/mem-memcpy", "has several points perf-bench/mem-memcpy"),
        ("syscall/getppid=perf-bench/futex-hash", "have no metric in common"),
    ] {
        compare(pair, "last").with(2).complains(&[words]);
    }
}

#[test]
fn wrong_files_and_options_are_named() {
    let bench = Bench::new();
    bench.write("bad.json", "{\"results\": [\n{\"command\": \"a\",\n\"mean\": -1}]}");
    bench.write("text.txt", "PASS\n");
    std::fs::create_dir(bench.path("folder")).expect("a folder");
    for (arguments, words) in [
        (
            "import --from hyperfine bad.json",
            &["bad.json: line 3: results[0].mean: -1 is below 0"][..],
        ),
        ("import --from go text.txt", &["text.txt: line 1: no line of it is a benchmark's"]),
        ("import --from go none.txt", &["cannot read none.txt"]),
        ("import --from go folder", &["folder is a folder, not a file of go"]),
        ("import --from criterion text.txt", &["text.txt is not a folder, which criterion writes"]),
        ("import --from criterion folder", &["folder: line 1: no results of criterion are in it"]),
        ("import --from nosuch text.txt", &["nosuch", "hyperfine, pyperf, criterion"]),
        ("import text.txt", &["not an oscost document", "--from TOOL"]),
    ] {
        bench.oscost(arguments).with(2).complains(words);
    }
    bench.oscost(&format!("import --from go {}", written_by("go.txt"))).with(0);
    for (arguments, words) in [
        ("export --format otava", &["--output DIR"][..]),
        ("export --only nosuch", &["has no results for nosuch"]),
        ("export --only go --all", &["--only", "--all"]),
        ("export -o folder", &["cannot write folder"]),
        ("compare last last --by run --map a/b{c=d}=e/f", &["with --by, --map matches cases"]),
        ("compare last last --map nonsense", &["is not OLD=NEW"]),
    ] {
        bench.oscost(arguments).with(2).complains(words);
    }
}
