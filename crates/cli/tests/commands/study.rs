//! `oscost study`: the list, a user's own study, verdicts and exit codes.

use crate::common::{Bench, Says, pages};
use serde_json::{Value, json};

const CLOCK: &str = "clock/std-instant";

/// A study with one claim, about a case that every system has.
fn study(relation: &str) -> String {
    format!(
        r#"
name = "mine"
title = "What does an Instant cost?"
question = "Is it cheap?"
source = "Nobody, 2026."
differences = ["None is known."]
[[measure]]
cases = ["clock/std-instant"]
[[table]]
title = "Time of one"
unit = "us"
factor = 0.001
rows-are = "clock"
columns = [{{ title = "us" }}]
[[table.row]]
title = "Instant"
published = ["0.5"]
point = {{ case = "clock/std-instant" }}
[[claim]]
name = "cheap"
sentence = "It is cheap."
source = "The title."
a = {{ case = "clock/std-instant" }}
relation = "{relation}"
[[about]]
claim = "cheap"
today = "Something changed."
"#
    )
}

/// A run with this time of `clock/std-instant`, from `rounds` rounds.
fn run_of(ns: f64, rounds: u32) -> String {
    let values: Vec<f64> =
        (0..rounds).map(|i| ns * (1.0 + 1e-4 * (f64::from(i % 3) - 1.0))).collect();
    let mut result = pages::result(CLOCK, json!({}), "time", "ns/op", ns);
    (result["rounds"], result["round_values"]) = (rounds.into(), values.into());
    result["estimate"] =
        json!({"median": ns, "low": ns * 0.999, "high": ns * 1.001, "level": 0.95});
    pages::document("20260101-000000-0001", json!({}), vec![result]).to_string()
}

#[test]
fn the_studies_are_listed_with_their_durations() {
    let bench = Bench::new();
    let list = bench.oscost("study").with(0);
    for name in ["timers", "syscall", "threads", "locks", "network"] {
        assert!(list.out.contains(name), "{}", list.out);
    }
    let json: Value = bench.oscost("study --json").with(0).json();
    let studies = json["studies"].as_array().unwrap();
    assert_eq!(studies.len(), 5);
    for study in studies {
        let (usual, full) = (study["duration_s"].as_f64(), study["full_duration_s"].as_f64());
        assert!(usual <= Some(300.0) && usual <= full, "{study}");
    }
}

#[test]
fn a_template_is_a_study_that_runs() {
    let bench = Bench::new();
    bench.oscost("study --new mine.toml").with(0);
    bench.oscost("study --new mine.toml").with(2).notes(&["mine.toml"]);
    let said = bench.oscost("study ./mine.toml");
    assert!(matches!(said.code, Some(0 | 1 | 3)), "{}", said.err);
    said.out.says(&["question", "published", "here/publ.", "1 claim: ", "Differences in method"]);
    said.err.says(&["2 points, up to"]);
    let stored = bench.oscost("study ./mine.toml --run last");
    if cfg!(unix) {
        // The verdict is the same from the store, without measuring.
        assert_eq!((stored.code, stored.out), (said.code, said.out));
    } else {
        // Windows has none of its cases, and a run without figures is not stored.
        assert_eq!((said.code, stored.code), (Some(3), Some(2)), "{}", said.out);
    }
}

#[test]
fn what_was_asked_for_is_stored_once() {
    let bench = Bench::new();
    let twice = study("value < 1 us")
        .replace("[[table]]", &format!("[[measure]]\ncases = [{CLOCK:?}]\n[[table]]"));
    bench.write("twice.toml", &twice);
    let said = bench.oscost("study twice.toml --budget 20s");
    assert!(matches!(said.code, Some(0 | 1 | 3)), "{}", said.err);
    let asked = bench.oscost("show --json").with(0).json()["run"]["asked"].clone();
    assert_eq!(asked, json!({ "study": "mine", "filters": CLOCK, "budget": "20000ms" }));
}

#[test]
fn verdicts_decide_the_exit_code() {
    let bench = Bench::new();
    bench.write("fast.json", &run_of(20.0, 12));
    bench.write("short.json", &run_of(20.0, 3));
    bench.write("holds.toml", &study("value < 1 us"));
    bench.write("fails.toml", &study("value > 1 us"));
    let said = bench.oscost("study holds.toml --run fast.json").with(0);
    assert!(said.out.contains("HOLDS: cheap"), "{}", said.out);
    assert!(!said.out.contains("Something changed"), "only where the answer did: {}", said.out);
    bench.oscost("study fails.toml --run fast.json").with(1).says(&["today: Something changed."]);
    // Three rounds decide nothing.
    bench.oscost("study holds.toml --run short.json").with(3);
    let open = bench.oscost("study holds.toml --run short.json --undecided pass").with(0);
    assert!(open.out.ends_with("\n1 of 1 not judged: cheap (undecided)\n"), "{}", open.out);
    bench.oscost("study timers --run fast.json").with(3).says(&["NOT MEASURABLE"]);
    let json = bench.oscost("study holds.toml --run fast.json --json").with(0).json();
    let cell = &json["tables"][0]["rows"][0]["cells"][0];
    assert_eq!(cell["published"], "0.5");
    assert!((cell["here"][0]["ratio"].as_f64().unwrap() - 0.04).abs() < 1e-6, "{cell}");
    assert_eq!(json["claims"][0]["verdict"], "holds");
    assert_eq!(json["claims"][0]["comparisons"][0]["a"]["case"], "clock/std-instant");
}

#[test]
fn systems_have_columns_and_verdicts_and_are_compared() {
    let bench = Bench::new();
    let mine = study("value < 1 us");
    let between = &study("ratio between 0.01 and 100")
        .replace("a = {", "b = { system = \"native\" }\na = { system = \"again\",")
        .replace("\"cheap\"", "\"alike\"");
    let claim = between.split("[[claim]]").nth(1).and_then(|it| it.split("[[about]]").next());
    let claim = claim.expect("a claim");
    bench.write("mine.toml", &format!("{mine}[[claim]]{claim}"));
    let measured = "study mine.toml --on native --on again=native --budget 10s";
    let said = bench.oscost(measured).ended();
    assert!(said.err.contains("study mine: 1 point on 2 systems, up to 10.0 s"), "{}", said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    let columns = lines.iter().find(|line| line.contains("published") && line.contains("again"));
    assert!(columns.is_some_and(|line| line.contains("native")), "{}", said.out);
    assert!(said.out.contains("2 claims, 3 verdicts: "), "{}", said.out);
    let json = bench.oscost("study mine.toml --run last --json").ended().json();
    let claims = json["claims"].as_array().unwrap();
    let on: Vec<&Value> = claims.iter().map(|claim| &claim["on"]).collect();
    assert_eq!(on[..2], [&json!(["native"]), &json!(["again"])]);
    assert_eq!(json["tables"][0]["systems"], json!(["native", "again"]));
    let systems = json["runs"].as_array().unwrap().iter().map(|run| run["system"].clone());
    assert_eq!(systems.collect::<Vec<_>>(), ["native", "again"]);
    // Beside other programs a claim may remain undecided.
    for claim in claims {
        assert_ne!(claim["verdict"], "not-measurable", "{claim}");
    }
    bench.oscost("study mine.toml --budget 1").with(2).complains(&["budget"]);
    bench.oscost("study mine.toml --budget 9s --run last").with(2);
}

#[test]
fn wrong_studies_are_refused_with_line_and_column() {
    let bench = Bench::new();
    bench.write("wrong.toml", &study("value < 1 kg"));
    bench.write("broken.toml", "name = \"x\"\ntitle = ");
    std::fs::write(bench.path("bytes.toml"), b"name = \"x\"\n# \xff").unwrap();
    for (arguments, part) in [
        ("study wrong.toml", "wrong.toml: line 24, column 12: "),
        ("study broken.toml", "broken.toml: line 2, column "),
        ("study bytes.toml", "bytes.toml: line 2, column 3: not UTF-8"),
        ("study nothing", "neither a study (timers, syscall, threads, locks, network) nor a file"),
        ("study timers --run nothing.json", "cannot read nothing.json"),
        ("study timers --new x.toml", "cannot be used with"),
        ("study --full", "required arguments were not provided"),
        ("study --on native", "required arguments were not provided"),
        ("study timers --on native --run last", "cannot be used with"),
        ("study --new ./none/x.toml", "cannot write ./none/x.toml"),
    ] {
        let said = bench.oscost(arguments).with(2).notes(&[part]);
        assert!(said.err.lines().count() == 1 && said.out.is_empty(), "{}", said.err);
    }
}
