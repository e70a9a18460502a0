//! Whole commands: measured, counted, compared, and ended with all processes that they started.
#![cfg(target_os = "linux")]

mod common;

use std::process::Child;

use common::linux::{denied, signal_group, until, users_of};
use common::{Bench, Said, codes_of_doubts, finish, said_by, times};
use serde_json::Value;

/// `oscost time` with these options and then these arguments.
fn time(bench: &Bench, options: &str, arguments: &[&str]) -> Said {
    finish(bench.command(&format!("time {options}")).args(arguments))
}

fn spawn(bench: &Bench, options: &str, arguments: &[&str]) -> Child {
    use std::os::unix::process::CommandExt;
    let mut command = bench.command(&format!("time {options}"));
    command.args(arguments).process_group(0).spawn().expect("the program starts")
}

fn metric<'a>(document: &'a Value, name: &str) -> &'a Value {
    let results = document["results"].as_array().expect("results");
    let found = results.iter().find(|result| result["metric"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {document}"))
}

fn median(result: &Value) -> f64 {
    result["estimate"]["median"].as_f64().unwrap_or_else(|| panic!("no figure: {result}"))
}

#[test]
fn a_command_is_measured_stored_and_compared() {
    let bench = Bench::new();
    let first = time(&bench, "--runs 6 --json", &["--", "sleep", "0.05"]).with(0);
    let document = first.json();
    let result = times(&document)[0];
    assert_eq!(result["case"], "time/command");
    assert_eq!(result["params"], serde_json::json!({"command": "sleep 0.05", "shell": "none"}));
    // `rounds` counts the quiet ones; there are samples of all six, on each CPU.
    let samples = result["samples"].as_u64().expect("a count");
    assert!(median(result) >= 50e6 && samples > 0 && samples.is_multiple_of(6), "{result}");
    assert!(result["per_op"]["syscalls"].as_f64() >= Some(5.0), "{result}");
    for name in ["user", "system", "involuntary-switches", "exit-code"] {
        assert!(median(metric(&document, name)) >= 0.0, "{name}");
    }
    for name in ["max-resident", "voluntary-switches", "page-faults"] {
        assert!(median(metric(&document, name)) >= 1.0, "{name}");
    }
    let second = time(&bench, "--runs 6", &["--", "sleep", "0.05"]).with(0);
    assert!(second.out.contains("sleep 0.05") && second.out.contains("ms"), "{}", second.out);
    assert!(bench.oscost("show").with(0).out.contains("sleep 0.05"));
    assert!(bench.oscost("runs").with(0).out.contains("sleep 0.05"));
    let compared = bench.oscost(&format!("compare {} last --json", first.saved())).with(0).json();
    let rows = compared["comparisons"][0]["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["metric"] == "time").expect("the time");
    assert!(row["ratio"].is_object() && row["verdict"] != "no pair", "{row}");
    bench.oscost("run time/command").with(2).complains(&["measured by `oscost time`"]);
}

#[test]
fn several_commands_are_compared_with_the_fastest() {
    let bench = Bench::new();
    let commands = ["sleep 0.4; exit 0", "sleep 0.05 && true"];
    let said = time(&bench, "--runs 6 --json", &commands).with(0);
    let document = said.json();
    assert_eq!(times(&document).len(), 2);
    let comparison = &document["comparison"];
    assert_eq!(comparison["fastest"], commands[1], "{comparison}");
    let [other] = &comparison["others"].as_array().expect("others")[..] else { panic!() };
    // On a machine that is never quiet there is no verdict.
    let verdict = other["verdict"].as_str().unwrap_or_default();
    assert!(
        ["slower", "cannot tell"].contains(&verdict) && other["command"] == commands[0],
        "{other}"
    );
    assert!(other["ratio"]["mid"].as_f64() > Some(1.5), "{other}");
    let shown = bench.oscost("show").with(0);
    let first = match verdict {
        "slower" => "is the fastest.",
        _ => "has the shortest time, but not by a significant difference.",
    };
    assert!(shown.out.contains(&format!("{} {first}", commands[1])), "{}", shown.out);
    assert!(shown.out.contains(&format!("{}: {verdict}, ", commands[0])), "{}", shown.out);
}

/// Checks that the kernel, where it permits this user to count, and a tracer count the same.
#[test]
fn system_calls_of_all_processes_are_counted() {
    let bench = Bench::new();
    let calls = |copies: &str, deny: &[libc::c_long]| {
        let line = format!("dd if=/dev/zero of=/dev/null bs=1 count={copies} 2>/dev/null; :");
        let mut command = bench.command("time --runs 1 --json");
        let document = finish(denied(command.arg(line), deny)).with(0).json();
        let result = times(&document)[0];
        result["per_op"]["syscalls"].as_f64().unwrap_or_else(|| panic!("{result}"))
    };
    let tracer = [libc::SYS_perf_event_open];
    let (few, many) = (calls("500", &[]), calls("1500", &[]));
    assert_eq!(many - few, 2_000.0, "a read and a write for each byte: {few} and {many}");
    assert_eq!((few, many), (calls("500", &tracer), calls("1500", &tracer)));
}

#[test]
fn the_command_is_prepared_and_run_as_often_as_asked() {
    let bench = Bench::new();
    let lines = |name: &str| {
        let text = std::fs::read_to_string(bench.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let commands = ["--prepare", "echo prepared >> log", "echo run >> log"];
    let said = time(&bench, "--runs 3 --no-count --show-output", &commands).with(0);
    assert_eq!(lines("log"), ["prepared", "run"].repeat(3), "{}", said.err);
    time(&bench, "--runs 2 --show-output", &["echo counted >> counted; echo shown; echo too >&2"])
        .with(0);
    assert_eq!(lines("counted").len(), 3, "once more, untimed");
    let shown =
        time(&bench, "--runs 1 --no-count --show-output", &["echo shown; echo too >&2"]).with(0);
    assert!(shown.err.contains("shown\n") && shown.err.contains("too\n"), "{}", shown.err);
    let hidden = time(&bench, "--runs 1", &["echo shown"]).with(0);
    assert!(!hidden.err.contains("shown"), "{}", hidden.err);
    let failed = time(&bench, "--runs 1 --prepare false", &["true"]).with(3);
    assert!(failed.out.contains("--prepare ended with exit code 1"), "{}", failed.out);
}

#[test]
fn a_failing_command_is_an_error_unless_asked_otherwise() {
    let bench = Bench::new();
    let failed = time(&bench, "--runs 2 --json", &["exit 3", "true"]).with(3).json();
    let outcomes: Vec<&Value> = times(&failed).iter().map(|result| &result["outcome"]).collect();
    assert_eq!(outcomes, ["failed", "measured"]);
    let reason = times(&failed)[0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("exit code 3") && reason.contains("--ignore-failure"), "{reason}");
    let document = time(&bench, "--runs 3 -i --json", &["kill -9 $$"]).with(0).json();
    assert_eq!(median(metric(&document, "exit-code")), 137.0);
    assert_eq!(median(metric(&document, "failures")), 3.0);
    assert!(codes_of_doubts(times(&document)[0]).contains(&"command-failed"), "{document}");
    let missing = time(&bench, "--runs 1", &["--", "nosuch-program"]).with(3);
    assert!(missing.out.contains("nosuch-program: No such file"), "{}", missing.out);
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let bench = Bench::new();
    let hangs = "(sleep 600; sleep 600) & sleep 600";
    for deny in [&[][..], &[libc::SYS_perf_event_open]] {
        let mut command = bench.command("time --runs 2 --time-limit 200ms --json");
        denied(command.args([hangs, "true"]), deny);
        let document = finish(&mut command).with(3).json();
        let [hung, done] = times(&document)[..] else { panic!("{document}") };
        assert_eq!((&hung["outcome"], &done["outcome"]), (&"timed-out".into(), &"measured".into()));
        let reason = hung["reason"].as_str().expect("a reason");
        assert!(reason.contains("did not end within 200ms"), "{reason}");
        until("no process is left", || users_of(&bench.temp()).is_empty());
    }
}

#[test]
fn ctrl_c_and_kill_end_everything() {
    for deny in [&[][..], &[libc::SYS_perf_event_open]] {
        for signal in [libc::SIGINT, libc::SIGKILL] {
            let bench = Bench::new();
            let options = if deny.is_empty() { "--no-count" } else { "" };
            let line = "touch started; (sleep 600; sleep 600) & sleep 600";
            let run = match deny.is_empty() {
                true => spawn(&bench, options, &[line]),
                false => {
                    use std::os::unix::process::CommandExt;
                    let mut command = bench.command("time");
                    command.arg(line).process_group(0);
                    denied(&mut command, deny).spawn().expect("the program starts")
                }
            };
            until("the command runs", || bench.path("started").exists());
            signal_group(run.id(), signal);
            let said = said_by(run);
            assert_eq!(said.code, (signal == libc::SIGINT).then_some(3), "{}", said.err);
            until("no process is left", || users_of(&bench.temp()).is_empty());
        }
    }
}
