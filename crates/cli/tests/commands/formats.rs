//! Formats of other tools: what oscost writes has the documented fields, and what they wrote is imported.

use serde_json::{Value, json};

use crate::common::exported::{result, with_run, written_by};
use crate::common::{Bench, CASE, finish};

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
            bench.oscost(command).with(0).says(&[&format!("measured by {tool}")]);
        }
        bench.oscost("report -o page.html").with(0);
        let page = bench.text("page.html");
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
    bench.folder("folder");
    bench.refuses(&[
        ("import --from hyperfine bad.json", &["bad.json: line 3: results[0].mean: -1 is below 0"]),
        ("import --from go text.txt", &["text.txt: line 1: no line of it is a benchmark's"]),
        ("import --from go none.txt", &["cannot read none.txt"]),
        ("import --from go folder", &["folder is a folder, not a file of go"]),
        ("import --from criterion text.txt", &["text.txt is not a folder, which criterion writes"]),
        ("import --from criterion folder", &["folder: line 1: no results of criterion are in it"]),
        ("import --from nosuch text.txt", &["nosuch", "hyperfine, pyperf, criterion"]),
        ("import text.txt", &["not an oscost document", "--from TOOL"]),
    ]);
    bench.oscost(&format!("import --from go {}", written_by("go.txt"))).with(0);
    bench.refuses(&[
        ("export --format otava", &["--output DIR"]),
        ("export --only nosuch", &["has no results for nosuch"]),
        ("export --only go --all", &["--only", "--all"]),
        ("export -o folder", &["cannot write folder"]),
        ("compare last last --by run --map a/b{c=d}=e/f", &["with --by, --map matches cases"]),
        ("compare last last --map nonsense", &["is not OLD=NEW"]),
    ]);
}
