//! Whole commands: measured, counted, compared, and ended with all processes that they started.

use crate::common::linux::{denied, nobody_is_left, signal_group, started_apart};
use crate::common::{
    Bench, Said, codes_of_doubts, figure, finish, of_metric, said_by, times, until,
};
use serde_json::Value;

/// `oscost time` with these options and then these arguments.
fn time(bench: &Bench, options: &str, arguments: &[&str]) -> Said {
    finish(bench.command(&format!("time {options}")).args(arguments))
}

#[test]
fn a_command_is_measured_stored_and_compared() {
    let bench = Bench::new();
    let first = time(&bench, "--runs 6 --json", &["--", "sleep", "0.05"]).with(0);
    let document = first.json();
    let result = times(&document)[0];
    assert_eq!(result["case"], "time/command");
    assert_eq!(result["params"], serde_json::json!({"command": "sleep 0.05", "shell": "none"}));
    assert!(figure(&document, "time", &[]) >= 50e6 && result["samples"] == 6, "{result}");
    assert!(figure(&document, "involuntary-switches", &[]) >= 0.0);
    for name in ["cpu", "max-resident", "voluntary-switches", "page-faults"] {
        assert!(figure(&document, name, &[]) >= 1.0, "{name}");
    }
    time(&bench, "--runs 6", &["--", "sleep", "0.05"]).with(0).says(&["sleep 0.05", "ms"]);
    assert!(bench.oscost("show").with(0).out.contains("sleep 0.05"));
    assert!(bench.oscost("runs").with(0).out.contains("sleep 0.05"));
    let rows = bench.compared(&format!("{} last", first.saved()));
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
    let last = shown.out.lines().last().expect("a line");
    let begins = match verdict {
        "slower" => format!("{} ran ", commands[1]),
        _ => format!("{} ran perhaps faster", commands[1]),
    };
    assert!(last.starts_with(&begins), "{}", shown.out);
}

/// Checks that the kernel, where it permits this user to count, and a tracer count the same.
#[test]
fn system_calls_of_all_processes_are_counted() {
    let bench = Bench::new();
    let calls = |copies: &str, deny: &[libc::c_long]| {
        let line = format!("dd if=/dev/zero of=/dev/null bs=1 count={copies} 2>/dev/null; :");
        let mut command = bench.command("time --runs 1 --counts --json");
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
    let lines = |name: &str| bench.text(name).lines().map(str::to_owned).collect::<Vec<_>>();
    let commands = ["--prepare", "echo prepared >> log", "echo run >> log"];
    let said = time(&bench, "--runs 3 --no-count --show-output", &commands).with(0);
    assert_eq!(lines("log"), ["prepared", "run"].repeat(3), "{}", said.err);
    let counted = "echo counted >> counted; echo shown; echo too >&2";
    time(&bench, "--runs 2 --counts --show-output", &[counted]).with(0);
    assert_eq!(lines("counted").len(), 3, "once more, untimed");
    let shown =
        time(&bench, "--runs 1 --no-count --show-output", &["echo shown; echo too >&2"]).with(0);
    assert!(shown.err.contains("shown\n") && shown.err.contains("too\n"), "{}", shown.err);
    let hidden = time(&bench, "--runs 1", &["echo shown"]).with(0);
    assert!(!hidden.err.contains("shown"), "{}", hidden.err);
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
    assert_eq!(figure(&document, "failures", &[]), 3.0);
    assert!(codes_of_doubts(times(&document)[0]).contains(&"command-failed"), "{document}");
    let killed = bench.oscost("show").with(0);
    let sentence = "the command was ended by signal 9 (SIGKILL) in 3 of 3 runs";
    assert!(killed.out.contains(sentence), "{}", killed.out);
    time(&bench, "--runs 1", &["--", "nosuch-program"])
        .with(3)
        .says(&["nosuch-program: No such file"]);
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let bench = Bench::new();
    let hangs = "(sleep 600; sleep 600) & sleep 600";
    for deny in [&[][..], &[libc::SYS_perf_event_open]] {
        let mut command = bench.command("time --runs 2 --counts --time-limit 200ms --json");
        denied(command.args([hangs, "true"]), deny);
        let document = finish(&mut command).with(3).json();
        let [hung, done] = times(&document)[..] else { panic!("{document}") };
        assert_eq!((&hung["outcome"], &done["outcome"]), (&"timed-out".into(), &"measured".into()));
        let reason = hung["reason"].as_str().expect("a reason");
        assert!(reason.contains("did not end within") && reason.contains("200ms"), "{reason}");
        nobody_is_left(&bench);
    }
}

#[test]
fn ctrl_c_and_kill_end_everything() {
    for deny in [&[][..], &[libc::SYS_perf_event_open]] {
        for signal in [libc::SIGINT, libc::SIGKILL] {
            let bench = Bench::new();
            let counts = if deny.is_empty() { "--no-counts" } else { "" };
            let mut command = bench.command(&format!("time {counts}"));
            command.arg("touch started; (sleep 600; sleep 600) & sleep 600");
            let run = started_apart(denied(&mut command, deny));
            until("the command runs", || bench.path("started").exists());
            signal_group(run.id(), signal);
            let said = said_by(run);
            assert_eq!(said.code, (signal == libc::SIGINT).then_some(3), "{}", said.err);
            nobody_is_left(&bench);
        }
    }
}

#[test]
fn what_is_run_around_the_runs_is_run_as_often_as_it_should() {
    let bench = Bench::new();
    let around = ["setup", "prepare", "conclude", "cleanup"]
        .map(|when| [format!("--{when}"), format!("echo {when} >> log")]);
    let mut arguments: Vec<&str> = around.as_flattened().iter().map(String::as_str).collect();
    arguments.push("echo run >> log");
    time(&bench, "--runs 2 --warmup 1 --no-counts", &arguments).with(0);
    let log = bench.text("log");
    let all: Vec<&str> = log.lines().collect();
    let once = ["prepare", "run", "conclude"];
    assert_eq!(all, [&["setup"][..], &once, &once, &once, &["cleanup"]].concat());
    for option in ["--setup", "--prepare", "--conclude", "--cleanup"] {
        let said = time(&bench, "--runs 1", &[option, "exit 7", "true"]).with(3);
        said.says(&[&format!("{option} ended with exit code 7")]);
    }
}

/// What a run prepared, and what the setup made, is undone whatever ends oscost, but for SIGKILL.
#[test]
fn what_was_begun_is_undone_whenever_it_ends() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let bench = Bench::new();
        let mut command = bench.command("time --no-counts --setup");
        command.args(["echo s >> log", "--cleanup", "echo c >> log", "--prepare", "echo p >> log"]);
        command.args(["--conclude", "echo o >> log", "touch started; sleep 600"]);
        let run = started_apart(&mut command);
        until("the command runs", || bench.path("started").exists());
        signal_group(run.id(), signal);
        let said = said_by(run);
        assert_eq!(said.code, Some(3), "{}", said.err);
        assert_eq!(bench.text("log").lines().collect::<Vec<_>>(), ["s", "p", "o", "c"]);
        nobody_is_left(&bench);
    }
}

#[test]
fn parameters_and_exports_are_those_of_hyperfine() {
    let bench = Bench::new();
    let exports = "--export-json out.json --export-markdown -";
    let options = format!("--runs 3 -L n 0.01,0.02 {exports}");
    let said = time(&bench, &options, &["sleep {n}"]).with(0);
    let table: Vec<&str> = said.out.lines().filter(|line| line.starts_with("| `sleep")).collect();
    // Which is faster by three runs beside other tests is chance.
    let is_base = |row: &&str| row.contains("1.00 |");
    assert!(table.len() == 2 && table.iter().any(is_base), "{}", said.out);
    let text = bench.text("out.json");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let [first, second] = &json["results"].as_array().expect("results")[..] else {
        panic!("{json}")
    };
    assert_eq!(first["command"], "sleep 0.01");
    assert_eq!(second["parameters"]["n"], "0.02");
    assert_eq!(first["times"].as_array().map(Vec::len), Some(3));
    assert!(
        second["min"].as_f64() >= Some(0.02) && second["max"].as_f64() < Some(60.0),
        "{second}"
    );
    assert_eq!(second["exit_codes"], serde_json::json!([0, 0, 0]));
}

#[test]
fn output_goes_where_it_is_wanted() {
    let bench = Bench::new();
    let line = "if [ -p /dev/stdout ]; then echo pipe; elif [ -c /dev/stdout ]; then echo null; else echo file; fi >> seen";
    for (output, seen) in [("null", "null"), ("pipe", "pipe"), ("printed", "file")] {
        // A redirection would replace the output before it is tested.
        let line = line.replace(" >> seen", "").replace("echo ", "printf >> seen ");
        time(&bench, &format!("--runs 1 --output {output}"), &[&line]).with(0);
        let text = bench.text("seen");
        assert!(text.ends_with(seen), "{output}: {text}");
    }
    std::fs::write(bench.path("in"), "read\n").expect("the input");
    time(&bench, "--runs 3 --input in --output out", &["cat"]).with(0);
    assert_eq!(bench.text("out"), "read\n");
    time(&bench, "--runs 1 --input missing", &["cat"]).with(3);
}

/// `&>` in a shell that is not bash starts a process in the background, and nothing is measured.
#[test]
fn processes_that_are_left_behind_are_said_and_ended() {
    let bench = Bench::new();
    let said = time(&bench, "--runs 2 --json", &["sleep 600 &> /dev/null"]).with(0);
    assert!(codes_of_doubts(times(&said.json())[0]).contains(&"left-processes"), "{}", said.out);
    nobody_is_left(&bench);
    // A daemon has a session of its own.
    let daemon = "setsid sh -c 'sleep 0.7; touch done' & sleep 0.2";
    let said = time(&bench, "--runs 1 --json", &[daemon]).with(0);
    assert!(!codes_of_doubts(times(&said.json())[0]).contains(&"left-processes"), "{}", said.out);
}

/// A command line of more than 128 KiB was refused, although the kernel takes 2 MiB.
#[test]
fn long_command_lines_are_run_and_shown_in_short() {
    let bench = Bench::new();
    let numbers: Vec<String> = (0..20_000).map(|n: u32| n.to_string()).collect();
    let arguments: Vec<&str> =
        ["--", "true"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
    let said = time(&bench, "--runs 2", &arguments).with(0);
    assert!(said.out.len() < 2_000, "{}", said.out);
    for shown in ["runs", "show", "compare last last"] {
        let out = bench.oscost(shown).out;
        assert!(out.len() < 4_000, "{shown}: {} octets", out.len());
    }
    let json = bench.oscost("show --json").with(0).json();
    let command = times(&json)[0]["params"]["command"].as_str().expect("a command");
    assert!(command.ends_with(" 19999"), "in full");
}

#[test]
fn time_that_was_not_measured_is_not_shown_as_zero() {
    let bench = Bench::new();
    let document = time(&bench, "--runs 5 --json", &["head -c 2000000 /dev/zero"]).with(0).json();
    for (metric, count) in [("cpu", 1), ("user", 0), ("system", 0)] {
        assert_eq!(of_metric(&document, metric).len(), count, "{metric}: {document}");
    }
}

#[test]
fn only_the_time_of_the_command_is_limited() {
    let bench = Bench::new();
    let limited =
        |arguments: &[&str]| time(&bench, "--runs 1 --json --time-limit 400ms", arguments);
    let late = limited(&["sleep 0.9"]).with(3).json();
    assert_eq!(times(&late)[0]["outcome"], "timed-out");
    // Each process has the time for itself.
    limited(&["--prepare", "sleep 0.25", "sleep 0.25"]).with(0);
    let reason = limited(&["--prepare", "sleep 9", "true"]).with(3).json();
    let reason = times(&reason)[0]["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("--prepare") && reason.contains("--time-limit"), "{reason}");
}
