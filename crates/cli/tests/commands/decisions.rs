//! What people act on: nights, imports and loads about which the wrong thing was said once.

use crate::common::{Bench, Says, finish, free_port};
use serde_json::Value;

/// A run of two points as a document, with another id and start.
fn dated(bench: &Bench, id: &str, started: &str) -> String {
    let mut document = bench.oscost("export").with(0).json();
    document["run"]["id"] = id.into();
    document["run"]["started"] = started.into();
    document["run"]["finished"] = started.into();
    let name = format!("{id}.json");
    bench.write(&name, &document.to_string());
    name
}

fn short_run(bench: &Bench) {
    bench.oscost("run syscall/getppid --quick --precision 50% --budget 60s").ended();
}

#[test]
fn a_night_is_judged_by_its_date() {
    let bench = Bench::new();
    short_run(&bench);
    let ahead = dated(&bench, "ahead", "2126-01-01T00:00:00Z");
    bench.oscost(&format!("import {ahead}")).with(2).complains(&["2126", "more than a day ahead"]);
    let old = dated(&bench, "old", "2025-01-01T00:00:00Z");
    let other = Bench::new();
    other.write("old.json", &bench.text(&old));
    other.oscost("import old.json").with(0);
    let said = other.oscost("watch --all");
    said.out.says(&["2025-01-01", "days old"]);
    other.oscost("watch --all --max-age 2d").with(3).complains(&["--max-age"]);
    let json = other.oscost("watch --all --json").json();
    assert!(json["age_days"].as_f64() > Some(300.0), "{json}");
    other.oscost("watch").with(2).complains(&["--all"]);
    // One visit shows no change, and none that there was none.
    other.oscost("history").with(0).says(&["fewer than 6 visits: nothing to judge"]);
}

#[test]
fn an_import_says_what_has_no_figure() {
    let bench = Bench::new();
    let entry = |name: &str, rest: &str| {
        format!(r#"{{"name": "{name}", "iterations": 9, "time_unit": "ns", {rest}}}"#)
    };
    let entries = [
        entry("copy", r#""real_time": 50, "cpu_time": 50"#),
        r#"{"name": "gpu", "skipped": true, "skip_message": "no GPU", "iterations": 0, "real_time": 0}"#
            .to_owned(),
        r#"{"name": "sort_BigO", "cpu_coefficient": 1.5, "real_coefficient": 1.5, "big_o": "N"}"#
            .to_owned(),
    ];
    let text = format!(r#"{{"context": {{}}, "benchmarks": [{}]}}"#, entries.join(","));
    bench.write("g.json", &text);
    let said = bench.oscost("import --from google-benchmark g.json").with(0);
    for word in ["gpu", "no GPU", "have no figure", "left out: 1 entry", "sort_BigO"] {
        assert!(said.err.contains(word), "{word}: {}", said.err);
    }
    let rows = bench.oscost("export --format openmetrics").with(0).out;
    assert!(!rows.contains("gpu"), "{rows}");
    bench.oscost("export --format github-bigger").with(0).complains(&["the list is empty"]);
}

#[test]
fn a_server_that_died_is_no_good_load() {
    let bench = Bench::new();
    let load = format!("net load --to {} --protocol 450 --duration 300ms", free_port());
    bench.oscost(&load).with(3).complains(&["the server was gone"]);
}

/// The server of the store is down when a run begins: the run is measured, and kept to be sent later.
#[test]
fn a_run_does_not_wait_for_the_server_of_its_store() {
    let bench = Bench::new();
    let store = format!("postgres://nobody@{}/none?sslmode=disable", free_port());
    let mut command =
        bench.command("run syscall/getppid --quick --precision 50% --budget 60s --json");
    command.args(["--store", &store]).env("XDG_DATA_HOME", bench.path("data"));
    let said = finish(&mut command).complains(&["is saved on this machine only", "oscost sync"]);
    let document: Value = said.json();
    assert_eq!(document["results"][0]["outcome"], "measured", "{document}");
}

#[test]
fn what_failed_has_no_verdict_on_its_time() {
    let bench = Bench::new();
    let time = |line: &str| {
        let mut command = bench.command("time -i -r 6 --no-counts -n build");
        finish(command.arg(line)).with(0)
    };
    time("sleep 0.05");
    time("false");
    let said = bench.oscost("compare last~1 last --fail-above 5%").with(3);
    assert!(!said.out.contains("faster"), "{}", said.out);
    said.says(&["the command ended with exit code 1 in 6 of 6 runs"]);
    let mut limited = bench.command("time -i -r 6 --no-counts --max-failures 50% false");
    finish(&mut limited).with(1);
}

/// A tag stands for its runs on the machine of the newest one: another machine of the same kind is another series.
#[test]
fn a_tag_means_one_machine() {
    let bench = Bench::new();
    short_run(&bench);
    let exported = bench.oscost("export").with(0).json();
    for (id, machine) in [("one", "aaaa"), ("two", "bbbb"), ("three", "aaaa")] {
        let mut document = exported.clone();
        document["run"]["id"] = id.into();
        document["run"]["tags"] = serde_json::json!({ "kernel": "new" });
        document["machine"]["machine_id"] = machine.into();
        bench.write("tagged.json", &document.to_string());
        bench.oscost("import tagged.json").with(0);
    }
    let said = bench.oscost("compare one kernel=new").with(0);
    said.complains(&["1 run of kernel=new on another machine"]);
}
