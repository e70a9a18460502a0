//! `oscost compare --by`: systems, and the dimensions within a run.

use crate::common::{Bench, finish, pages};
use serde_json::{Value, json};

/// A result whose rounds are spread evenly within 1 %.
fn result(case: &str, params: &Value, ns: f64, salt: u64) -> Value {
    let round = |n: u64| ns * (1.0 + 0.001 * ((n * 7 + salt * 3) % 11) as f64);
    let rounds: Vec<f64> = (0..8).map(round).collect();
    let mut sorted = rounds.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut result = pages::result(case, params.clone(), "time", "ns/op", ns);
    (result["rounds"], result["round_values"]) = (8.into(), rounds.into());
    let median = (sorted[3] + sorted[4]) / 2.0;
    result["estimate"] =
        json!({"median": median, "low": sorted[0], "high": sorted[7], "level": 0.95});
    result
}

/// A run of a group of two, on the system `system`, where a system call takes `factor` times as long.
fn document(id: &str, system: &str, factor: f64) -> String {
    let as_of = |place: &str, workers: &str| json!({"as": place, "workers": workers});
    let results = [
        result("syscall/getppid", &json!({}), 85.0 * factor, 1),
        result("lock/sysv-sem", &as_of("threads", "1"), 400.0, 2),
        result("lock/sysv-sem", &as_of("processes", "1"), 500.0, 3),
        result("lock/futex", &as_of("threads", "1"), 20.0, 4),
        result("lock/futex", &as_of("threads", "2"), 90.0, 5),
    ];
    let mut run = pages::document(id, json!({"kind": system}), results.into());
    run["run"]["asked"] = json!({"group": "first"});
    run["machine"] = json!({"system": system});
    run.to_string()
}

/// A bench with the runs `first`, on `native`, and `second`, on `gvisor`, measured together.
fn bench() -> Bench {
    let bench = Bench::new();
    for (id, system, factor) in [("first", "native", 1.0), ("second", "gvisor", 8.0)] {
        bench.write(&format!("{id}.json"), &document(id, system, factor));
        bench.oscost(&format!("import {id}.json")).with(0);
    }
    bench
}

#[test]
fn runs_measured_together_are_compared_by_system() {
    let bench = bench();
    let json = bench.oscost("compare last --by system --json").with(0).json();
    assert_eq!(json["columns"], json!(["native", "gvisor"]));
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5);
    let cell = &rows[0]["cells"][1];
    assert_eq!((&rows[0]["case"], &cell["column"]), (&json!("syscall/getppid"), &json!("gvisor")));
    assert_eq!(cell["against_base"]["verdict"], "slower");
    let ratio = cell["against_base"]["ratio"]["mid"].as_f64().expect("a ratio");
    assert!((ratio - 8.0).abs() < 0.1, "{ratio}");
    let areas = json["overview"]["areas"].as_array().expect("areas");
    let verdicts: Vec<&Value> = areas.iter().map(|a| &a["columns"][0]["mean"]["verdict"]).collect();
    assert_eq!(verdicts, ["slower", "same"]);
    assert_eq!(areas[0]["ranks"], json!([[1, 1], [2, 2]]));
    let text = bench.oscost("compare first --by system").with(0).out;
    assert!(text.starts_with("- The design matters more than the system for lock"), "{text}");
    let of_gvisor = "- gvisor: slower than native in syscall (8.0 times); on average the same as native in lock (4 points).";
    assert!(text.replace("\n  ", " ").contains(of_gvisor), "{text}");
    bench.oscost("compare last --by system --fail-above 5%").with(1);
    bench.oscost("compare last --by system --fail-above 5% --base gvisor").with(0);
    let locks = bench.oscost("compare last --by system --at case=lock --fail-above 5%").with(0);
    let line = "all 4 rows judged, none worse by more than 5 %\n";
    assert!(locks.out.ends_with(&format!("\n{line}")), "{}", locks.out);
    bench.oscost("compare last --by system --only lock --fail-above 5%").with(0);
    let syscall = "compare last --by system --only getppid --fail-above 5%";
    let said = bench.oscost(syscall).with(1).out;
    assert!(said.ends_with("\n1 of 1 worse by more than 5 %: syscall/getppid\n"), "{said}");
    bench.oscost("compare first second --only net --fail-above 5%").with(2);
    bench.oscost("compare first second --only loc --fail-above 5%").with(2);
    let ladder = bench.oscost("compare last --by system --ladder --at case=syscall").with(0).out;
    assert!(ladder.contains("gvisor (sandbox)") && ladder.contains("+598 ±3 ns"), "{ladder}");
    let tagged = bench.oscost("compare last --by tag.kind --json").with(0).json();
    assert_eq!(tagged["columns"], json!(["native", "gvisor"]));
    let by_run = bench.oscost("compare first second --by run --json").with(0).json();
    assert_eq!(by_run["columns"], json!(["first", "second"]));
}

/// Makes a result an unsupported or failed one.
fn end(result: &mut Value, outcome: &str) {
    for figure in ["estimate", "round_values"] {
        result.as_object_mut().unwrap().remove(figure);
    }
    (result["outcome"], result["reason"]) = (json!(outcome), json!("no such call"));
}

#[test]
fn a_gate_is_open_for_what_lacks_a_pair_and_not_for_what_no_system_has() {
    let bench = Bench::new();
    let without = |id: &str, outcome: &str| {
        let mut document: Value = serde_json::from_str(&document(id, "native", 1.0)).unwrap();
        end(&mut document["results"][0], outcome);
        document.to_string()
    };
    bench.write("a.json", &document("a", "native", 1.0));
    for (id, outcome) in [("b", "unsupported"), ("c", "unsupported"), ("d", "failed")] {
        bench.write(&format!("{id}.json"), &without(id, outcome));
    }
    for by in ["", " --by run"] {
        let gate =
            |runs: &str| bench.oscost(&format!("compare {runs}{by} --fail-above 5% --margin 5%"));
        gate("b.json c.json").with(0).says(&["all 4 rows judged"]);
        for runs in ["a.json b.json", "b.json a.json", "a.json d.json"] {
            let said = gate(runs).with(3).out;
            assert!(said.ends_with("1 of 5 not judged: syscall (no pair)\n"), "{runs}: {said}");
        }
        let compare = format!("compare a.json b.json{by} --margin 5%");
        bench.oscost(&format!("{compare} --fail-above 5% --undecided pass")).with(0);
        bench.oscost(&format!("{compare} --fail-above 5% --only lock")).with(0);
        // Without a limit it is no gate.
        let said = bench.oscost(&compare).with(0).out;
        assert!(said.ends_with("1 of 5 not judged: syscall (no pair)\n"), "{said}");
    }
    bench.oscost("compare a.json b.json --undecided pass").with(2);
}

#[test]
fn emulated_systems_are_announced_first_and_get_no_verdict_words() {
    let bench = Bench::new();
    let emulated = |system: &str, factor: f64| {
        let mut document: Value = serde_json::from_str(&document(system, system, factor)).unwrap();
        document["machine"]["emulated"] = "the processor is emulated by QEMU (TCG)".into();
        document.to_string()
    };
    bench.write("base.json", &emulated("base", 1.0));
    bench.write("mine.json", &emulated("mine", 1.125));
    bench.write("real.json", &document("real", "real", 1.0));
    bench.oscost("import base.json").with(0);
    bench.write("claims.toml", "[[claim]]\nname = 'a'\nsentence = 'It is cheap.'\na.case = 'syscall/getppid'\nrelation = '< 1 s'\n");
    let ratios = "EMULATED (no KVM): these ratios count instructions, not time";
    let figures = "EMULATED (no KVM): these figures count instructions, not time";
    for (arguments, code, line) in [
        ("compare base.json mine.json --all", 0, ratios),
        ("compare base.json mine.json --by system --ladder --all", 0, ratios),
        ("compare base.json real.json --by system --all", 0, &*format!("{ratios}: base")),
        ("compare base --by as --all", 0, ratios),
        ("compare base.json mine.json --fail-above 5%", 3, ratios),
        ("show last", 0, figures),
        ("check claims.toml base.json", 3, figures),
    ] {
        let said = bench.oscost(arguments).with(code).out;
        assert_eq!(said.lines().next(), Some(line), "{arguments}");
        for word in ["slower", "faster", "better", "worse", "same"] {
            let is_used = said.lines().any(|text| text.contains(word));
            assert!(!is_used, "{arguments}: {word} in {said}");
        }
    }
    let said = bench.oscost("compare base.json mine.json --by system").with(0).out;
    let sentence = "mine: emulated, not judged against base: lock x1.00 and syscall x1.13";
    assert!(said.contains(sentence), "{said}");
    bench.oscost("report base.json mine.json -o page.html").with(0);
    let page = bench.text("page.html");
    assert!(page.contains(ratios) && !page.contains("slower"), "no announcement");
}

#[test]
fn parameters_and_cases_of_one_run_are_compared() {
    let bench = bench();
    let by_place = bench.oscost("compare first --by as --json").with(0).json();
    assert_eq!(by_place["columns"], json!(["threads", "processes"]));
    let verdict = |json: &Value| json["rows"][0]["cells"][1]["against_base"]["verdict"].clone();
    assert_eq!(by_place["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(verdict(&by_place), "slower");
    let locks = "compare first --by case --at case=lock --at as=threads --at workers=1";
    let by_case = bench.oscost(&format!("{locks} --json")).with(0).json();
    assert_eq!(by_case["columns"], json!(["lock/futex", "lock/sysv-sem"]), "the fastest first");
    assert_eq!(verdict(&by_case), "slower");
    bench.oscost(locks).with(0).says(&["sysv-sem: slower than futex in lock (20 times)"]);
    let from_sysv = bench.oscost(&format!("{locks} --base sysv-sem")).with(0).out;
    assert!(from_sysv.contains("futex: faster than sysv-sem in lock (20 times)"), "{from_sysv}");
    let mut all = bench.command("compare first --by case --at case=lock");
    let all = finish(all.env("COLUMNS", "80")).with(0).out;
    assert!(all.contains("threads") && all.lines().all(|line| !line.starts_with('*')), "{all}");
    // A named run of a group stands alone; a condition on the system selects the run on that system.
    let of_other = bench.oscost("compare first --by as --at system=gvisor --json").with(0).json();
    assert_eq!(of_other["rows"][0]["run"], "second");
}

#[test]
fn what_cannot_be_compared_is_wrong_usage_with_a_remedy() {
    let bench = bench();
    for (arguments, message) in [
        (
            "last --by arch",
            "no selected result has \"arch\"; the results have system, run, case, as, tag.kind, workers",
        ),
        ("last --by case", "cases of one area can be compared, and these are of syscall, lock"),
        ("last --by metric", "figures of different metrics cannot be compared"),
        ("last --by a,b", "\"a,b\" is no dimension"),
        (
            "last --by system --base wine",
            "wine is not a value of system: the values are native, gvisor",
        ),
        ("last --by system --at workers", "\"workers\" is not NAME=VALUE"),
        ("last --by system --map futex=sysv", "is not OLD=NEW with two cases"),
        ("last --by system --at workers=99", "no result is selected"),
        ("last --by as --ladder", "--ladder compares systems"),
        ("last --at workers=1", "required arguments were not provided"),
        ("nothing --by system", "nothing"),
    ] {
        bench.oscost(&format!("compare {arguments}")).with(2).complains(&[message]);
    }
}
