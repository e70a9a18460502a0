//! Events on the host per operation in a system, as counted from outside.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::common::linux::denied;
use crate::common::{Bench, SHORT, finish, needs, skip_unless, times};
use serde_json::Value;

/// Lock for runs that count, since those that run at the same time leave each other too few operations.
static ALONE: Mutex<()> = Mutex::new(());

const CASES: &str = "syscall/getppid clock/std-instant process/fork";

fn run(bench: &Bench, arguments: &str, systems: &[&str]) -> Command {
    let mut command = bench.command(&format!("run {arguments} --json"));
    for system in systems {
        command.args(["--on", system]);
    }
    command
}

/// The count of a case of this document; `None` if it is absent.
fn count(document: &Value, case: &str, count: &str) -> Option<f64> {
    let all = times(document);
    let result = all.iter().find(|result| result["case"] == case).expect("the case");
    assert_eq!(result["outcome"], "measured", "{result}");
    result["per_op"][count].as_f64()
}

/// The documents of a run that counted all of `counts`, or could not count: on a busy machine its pairs of rounds may differ too
/// much, or have too little time.
fn documents_with(
    bench: &Bench,
    arguments: &str,
    systems: &[&str],
    counts: &[[&str; 2]],
) -> Vec<Value> {
    const TRIES: u32 = 3;
    for attempt in 1.. {
        let said = finish(&mut run(bench, arguments, systems)).with(0).json();
        let documents = said.as_array().expect("one for each system");
        let is_counted = |document: &Value| {
            counts.iter().all(|[case, name]| count(document, case, name).is_some())
        };
        let are_done = |document| is_counted(document) || reason(document).is_some();
        if attempt == TRIES || documents.iter().all(are_done) {
            return documents.clone();
        }
    }
    unreachable!("the last attempt returns");
}

/// The reason why nothing was counted, if there is one.
fn reason(document: &Value) -> Option<&str> {
    document["machine"]["host_counts"].as_str()
}

#[test]
fn each_operation_is_counted_on_the_host_without_the_start_of_its_worker() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    // The launcher's process is not the agent, but starts it in another process group.
    let systems = ["native", "other=env -u NOTHING setsid --wait {oscost} agent"];
    let arguments = format!("{CASES} --quick --budget 16s");
    let wanted = [
        ["syscall/getppid", "host_syscalls"],
        ["clock/std-instant", "host_syscalls"],
        ["process/fork", "host_syscalls"],
        ["process/fork", "host_switches"],
    ];
    let documents = documents_with(&bench, &arguments, &systems, &wanted);
    assert_eq!(documents.len(), 2);
    for document in &documents {
        let reason = reason(document);
        skip_unless!(needs::granted(reason));
        let of = |case: &str, of: &str| count(document, case, of).expect("a count");
        let calls = of("syscall/getppid", "host_syscalls");
        assert!((0.95..1.2).contains(&calls), "{calls}");
        // The host makes as many calls as the operation itself: none, if the kernel's clock needs no call.
        let own = count(document, "clock/std-instant", "syscalls").unwrap_or(0.0);
        let calls = of("clock/std-instant", "host_syscalls");
        assert!((calls - own).abs() < 0.2, "{calls}, {own}");
        // There is a switch to the child and one back; the child's calls are counted too.
        assert!(of("process/fork", "host_switches") > 0.9);
        let own = count(document, "process/fork", "syscalls").unwrap_or(2.0);
        assert!(of("process/fork", "host_syscalls") > own + 0.5);
        assert!(document["machine"]["launcher"].is_string());
    }
    bench.oscost("compare last --by system --all").with(0).says(&["host calls"]);
    bench.oscost("compare last --by system --ladder").with(0).says(&["host calls"]);
}

/// Checks trials that take longer, where the difference comes from the additional requests.
#[test]
fn a_request_to_a_server_is_counted_on_the_host() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let arguments = "net/requests --param arch=epoll --param connections=1 --quick --budget 20s";
    let wanted = ["net/requests", "host_syscalls"];
    let documents = documents_with(&bench, arguments, &["native"], &[wanted]);
    let document = &documents[0];
    let reason = reason(document);
    skip_unless!(needs::granted(reason));
    let host = count(document, "net/requests", "host_syscalls").expect("a count");
    // The calls are those to read and to write, for server and client each, and those to wait.
    assert!(host > 3.5 && host < 20.0, "{host}");
    let own = count(document, "net/requests", "syscalls").unwrap_or(2.0);
    assert!(host > own + 1.5, "{host}, of which the server's {own}");
}

/// Checks trials that create more files, and read more blocks.
#[test]
fn files_and_their_blocks_are_counted_on_the_host() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let files = "file/small --param size=0 --param files=300";
    let blocks = "file/random-read --param engine=pread --param mode=cached --param size=4m";
    for filters in [files, blocks] {
        let arguments = format!("{filters} --quick --budget 15s");
        let case = filters.split(' ').next().expect("a case");
        let wanted = [[case, "host_syscalls"], [case, "syscalls"]];
        let documents = documents_with(&bench, &arguments, &["native"], &wanted);
        let document = &documents[0];
        let reason = reason(document);
        skip_unless!(needs::granted(reason));
        let all = times(document);
        let measured = all.iter().filter(|result| result["outcome"] == "measured");
        for result in measured.clone() {
            let count = |name: &str| result["per_op"][name].as_f64().expect("a count");
            // Reading or creating a file makes no other calls than those of this thread.
            assert!((count("host_syscalls") - count("syscalls")).abs() < 0.3, "{result}");
        }
        assert!(measured.count() > 0, "{document}");
    }
}

#[test]
fn what_cannot_be_counted_is_absent_with_the_reason() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let mut command = run(&bench, &format!("syscall/getppid {SHORT}"), &["native"]);
    let said = finish(denied(&mut command, &[libc::SYS_perf_event_open]))
        .with(0)
        .notes(&["the host's system calls of native are not counted: "]);
    let json = said.json();
    let document = &json[0];
    assert!(reason(document).is_some_and(|text| text.starts_with("not counted: ")), "{document}");
    for name in ["host_syscalls", "host_switches", "host_ptrace_stops"] {
        assert_eq!(count(document, "syscall/getppid", name), None, "unknown is not zero");
    }
}
