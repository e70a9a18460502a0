//! `oscost check`, from a claim file to verdicts.

use crate::common::{Bench, Says, text_of, times};
use serde_json::Value;

const CLAIMS: &str = r#"
title = "Clocks"

[[claim]]
name = "cheap"
sentence = "Reading a clock takes less than 10 ms."
a.case = "clock/std-instant"
relation = "< 10 ms"

[[claim]]
name = "free"
sentence = "Reading a clock takes no time."
a.case = "clock/std-instant"
relation = "<= 0.001 ns"

[[claim]]
name = "elsewhere"
sentence = "Another system is slower."
a = { case = "clock/std-instant", system = "elsewhere" }
b = { system = "native" }
relation = "ratio > 1"
"#;

/// Only the claims with these names.
fn only(names: &[&str]) -> String {
    let parts = CLAIMS.split("[[claim]]").skip(1);
    let wanted =
        parts.filter(|part| names.iter().any(|name| part.contains(&format!("\"{name}\""))));
    wanted.map(|part| format!("[[claim]]{part}")).collect()
}

fn verdicts(json: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(document["schema"], 1);
    let claims = document["claims"].as_array().expect("claims").iter();
    claims.map(|claim| claim["verdict"].as_str().expect("a verdict").to_owned()).collect()
}

/// Writes `other.json`: a document with another id, and another fact about its machine.
fn write_other(bench: &Bench, document: &str, fact: &str, value: &str) {
    let mut other: Value = serde_json::from_str(document).expect("JSON");
    other["run"]["id"] = "20260101-000000-0000".into();
    other["machine"][fact] = value.into();
    bench.write("other.json", &other.to_string());
}

#[test]
fn claims_are_measured_and_judged_again_from_the_run() {
    let bench = Bench::new();
    bench.write("claims.toml", CLAIMS);
    bench.write("good.toml", &only(&["cheap"]));
    bench.write("missing.toml", &only(&["cheap", "elsewhere"]));
    let said =
        bench.oscost("check claims.toml --quick --junit claims.xml --markdown claims.md").with(1);
    assert!(said.out.contains("3 claims: 1 holds, 1 fails, 1 not measurable"), "{}", said.out);
    assert!(said.out.contains("the system \"elsewhere\" was not measured"), "{}", said.out);
    let junit = bench.text("claims.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{junit}");
    let markdown = bench.text("claims.md");
    assert!(markdown.contains("# Clocks") && markdown.contains("✗ free: fails"), "{markdown}");

    // The run is judged again, from the store and as a document.
    let again = bench.oscost("check claims.toml last --json").with(1);
    assert_eq!(verdicts(&again.out), ["holds", "fails", "not-measurable"]);
    bench.oscost("check good.toml last").with(0);
    bench.oscost("check missing.toml last").with(3);
    bench.oscost("export last -o run.json").with(0);
    let imported = bench.oscost("check claims.toml run.json --json").with(1);
    assert_eq!(imported.out, again.out);
    // The document of a run under another system's name.
    let document = bench.text("run.json");
    write_other(&bench, &document, "system", "elsewhere");
    let both = bench.oscost("check claims.toml run.json other.json --json").with(1);
    // The figures are equal: one system is not slower than the other, nor certainly not slower.
    assert_eq!(verdicts(&both.out), ["holds", "fails", "undecided"]);
    bench.write("undecided.toml", &only(&["elsewhere"]));
    let open = bench.oscost("check undecided.toml run.json other.json").with(3);
    assert!(open.out.ends_with("\n1 of 1 not judged: elsewhere (undecided)\n"), "{}", open.out);
    bench.oscost("check undecided.toml run.json other.json --undecided pass").with(0);
    bench.oscost("check missing.toml last --undecided pass").with(0);
    bench.oscost("check claims.toml last --undecided pass").with(1);
    let good = bench.oscost("check good.toml last").with(0).out;
    assert!(good.ends_with("\n1 claim judged, all hold\n"), "{good}");
}

const BETWEEN: &str = r#"
[[claim]]
name = "alike"
sentence = "Both systems are the same machine."
a = { case = "clock/std-instant", system = "again" }
b.system = "native"
relation = "ratio between 0.01 and 100"

[[claim]]
name = "of-the-first"
sentence = "A free lock takes less than 10 ms."
a = { case = "lock/std-mutex", params = { workers = 1, work = "none" } }
relation = "< 10 ms"
scope = "for all"
"#;

/// Whether the verdict rests on figures: beside other programs a claim may remain undecided.
fn is_judged(verdict: &str) -> bool {
    ["holds", "undecided"].contains(&verdict)
}

#[test]
fn claims_between_systems_are_measured_on_each_and_judged() {
    let bench = Bench::new();
    bench.write("claims.toml", BETWEEN);
    let said =
        bench.oscost("check claims.toml --quick --on native --on again=native --json").ended();
    assert!(verdicts(&said.out).iter().all(|verdict| is_judged(verdict)), "{}", said.out);
    assert!(said.err.contains(" points on 2 systems, up to "), "{}", said.err);
    let claims = &said.json()["claims"];
    let sides = &claims[0]["comparisons"][0];
    assert_eq!((&sides["a"]["system"], &sides["b"]["system"]), (&"again".into(), &"native".into()));
    assert_eq!(claims[1]["comparisons"][0]["a"]["system"], "native");
    // The second system has only the points of claims that name it.
    let runs = said.json()["runs"].as_array().expect("runs").clone();
    assert_eq!(runs.len(), 2);
    for (run, expected) in runs.iter().zip([2, 1]) {
        let id = run.as_str().expect("an id");
        let document = bench.oscost(&format!("export {id}")).with(0).json();
        let mut cases: Vec<&Value> =
            times(&document).iter().map(|result| &result["case"]).collect();
        cases.dedup();
        assert_eq!(cases.len(), expected, "{cases:?}");
    }
    // Naming either run includes the other one.
    for run in ["last", "last~1"] {
        let again = bench.oscost(&format!("check claims.toml {run} --json")).ended();
        assert_eq!(verdicts(&again.out), verdicts(&said.out));
    }
    let one = bench.oscost("check claims.toml --quick --json").with(3);
    assert_eq!(verdicts(&one.out)[0], "not-measurable");
    assert!(is_judged(&verdicts(&one.out)[1]), "{}", one.out);
    assert!(one.err.contains("were not measured: again; --on measures several"), "{}", one.err);
    for (options, words) in [
        ("last --on native", "--on"),
        ("--on nativ", "nativ"),
        ("--systems x.toml", "--on"),
        ("--measure-missing", "RUN"),
        ("last --quick", "--measure-missing"),
    ] {
        bench.oscost(&format!("check claims.toml {options}")).with(2).complains(&[words]);
    }
}

/// A claim about locks; [`CLAIMS`] has another one, about a clock.
const LOCKS: &str = r#"
[[claim]]
name = "alike"
sentence = "Two kinds of mutex are within a factor of 1000 of each other."
a = { case = "lock/std-mutex", params = { workers = [1, 2], work = "none" } }
b.case = "lock/parking-lot-mutex"
relation = "ratio between 0.001 and 1000"
scope = "for all"

"#;

#[test]
fn points_that_a_run_lacks_are_named_with_the_command_that_measures_them() {
    let bench = Bench::new();
    bench.write("claims.toml", &[LOCKS, &only(&["cheap"])].concat());
    let run = bench
        .oscost("run clock/std-instant lock/std-mutex --param workers=1 --param work=none --quick")
        .ended()
        .saved();
    let said = bench.oscost(&format!("check claims.toml {run} --json")).with(3);
    assert_eq!(verdicts(&said.out)[0], "not-measurable");
    said.err.says(&["3 points that were not measured: ", "lock/parking-lot-mutex{", "workers=2"]);
    let command = said.err.split("`oscost ").nth(1).and_then(|rest| rest.split('`').next());
    let command = command.expect("a command").to_owned();
    assert!(command.starts_with("run lock/std-mutex lock/parking-lot-mutex --param "), "{command}");
    bench.oscost(&format!("{command} --quick")).ended();
    let both = bench.oscost(&format!("check claims.toml {run} last --json")).ended();
    assert!(verdicts(&both.out).iter().all(|verdict| is_judged(verdict)), "{}", both.out);
    assert!(both.err.lines().count() == 1 && both.err.contains("judged"), "{}", both.err);
}

#[test]
fn what_a_run_lacks_is_measured_on_request_if_it_is_of_this_machine() {
    let bench = Bench::new();
    bench.write("claims.toml", &[LOCKS, &only(&["cheap"])].concat());
    let run = bench.oscost("run clock/std-instant --quick").ended().saved();
    let options = format!("check claims.toml {run} --measure-missing --quick");
    let said = bench.oscost(&format!("{options} --json")).ended();
    assert!(verdicts(&said.out).iter().all(|verdict| is_judged(verdict)), "{}", said.out);
    let runs = said.json()["runs"].as_array().expect("runs").clone();
    assert!(runs.len() == 2 && runs[0] == run.as_str(), "{runs:?}");
    // No points are left to measure.
    let again = bench.oscost(&format!("check claims.toml {run} last --measure-missing")).ended();
    assert!(again.err.is_empty(), "{}", again.err);
    let document = bench.oscost(&format!("export {run}")).with(0).out;
    write_other(&bench, &document, "cpu_model", "another one");
    let refused = bench.oscost("check claims.toml other.json --measure-missing --quick").with(2);
    refused.complains(&["20260101-000000-0000", "cpu_model", "another one"]);
}

#[test]
fn mistakes_name_file_line_and_column() {
    let bench = Bench::new();
    bench.write("typo.toml", &CLAIMS.replace("std-instant", "std-instent"));
    bench.write("broken.toml", "[[claim]\n");
    bench.write("empty.toml", "");
    bench.write("good.toml", CLAIMS);
    for (arguments, words) in [
        (
            "typo.toml",
            &["typo.toml: line 7, column 10: no case is named", "did you mean clock/std-instant?"]
                [..],
        ),
        ("broken.toml", &["broken.toml: line 1, column "]),
        ("empty.toml", &["the file has no claim"]),
        ("none.toml", &[]),
        ("good.toml last", &[]),
        ("good.toml last --quick", &[]),
    ] {
        bench.oscost(&format!("check {arguments}")).with(2).notes(words);
    }
}

#[test]
fn the_example_gets_a_verdict_or_a_reason_for_each_claim() {
    let bench = Bench::new();
    let text = text_of("examples/claims/expectations.toml");
    bench.write("expectations.toml", &text);
    let said = bench.oscost("check expectations.toml --quick --json");
    assert!(matches!(said.code, Some(0 | 1 | 3)), "{:?} {}", said.code, said.err);
    let document = said.json();
    let claims = document["claims"].as_array().expect("claims");
    assert_eq!(claims.len(), text.matches("[[claim]]").count());
    for claim in claims {
        let is_open = matches!(claim["verdict"].as_str(), Some("undecided" | "not-measurable"));
        // Beside other programs a verdict says so.
        let has_reason = claim["note"] != "" && claim["note"] != "beside load";
        assert_eq!(has_reason, is_open, "{claim}");
    }
}
