//! System calls and switches of each operation, by each way of counting.

use crate::common::linux::{as_nobody, denied};
use crate::common::{Bench, Said, finish, needs, short, skip_unless, times};

const RUN: &str =
    "lock/sysv-sem lock/futex lock/pthread-mutex lock/std-mutex syscall/getppid --param workers=1";

/// System calls of one operation without contention.
const EXPECTED: [(&str, f64); 5] = [
    ("lock/sysv-sem", 2.0),
    ("lock/futex", 0.0),
    ("lock/pthread-mutex", 0.0),
    ("lock/std-mutex", 0.0),
    ("syscall/getppid", 1.0),
];

#[track_caller]
fn counts_are_right(said: Said) {
    let document = said.with(0).json();
    for (case, calls) in EXPECTED {
        let all = times(&document);
        let mut of_case = all.iter().filter(|result| result["case"] == case).peekable();
        assert!(of_case.peek().is_some(), "{case}");
        for result in of_case {
            assert_eq!(result["per_op"]["syscalls"], calls, "{result}");
        }
    }
}

#[test]
fn by_whatever_this_user_may_use_and_by_a_tracer_where_the_kernels_counter_is_denied() {
    let bench = Bench::new();
    counts_are_right(bench.oscost(&short(RUN)));
    counts_are_right(finish(denied(&mut bench.command(&short(RUN)), &[libc::SYS_perf_event_open])));
}

/// Regression test: a thread stops twice for its tracer at each call, so that getppid had two switches per call; and a server
/// that leaves no marks for the tracer had no calls at all.
#[test]
fn what_the_tracer_causes_or_cannot_see_is_not_counted() {
    let bench = Bench::new();
    let per_op = |run: &str, what: &str| {
        let mut command = bench.command(&short(run));
        let document = finish(denied(&mut command, &[libc::SYS_perf_event_open])).with(0).json();
        times(&document)[0]["per_op"][what].clone()
    };
    let switches = |run: &str| per_op(run, "voluntary_switches").as_f64().unwrap();
    assert!(switches("syscall/getppid") < 0.5);
    // Only one of the two tasks is counted, which makes every second hand-over.
    assert!(switches("switch/pipe --param place=same") < 0.75);
    let answers = "net/requests --param arch=epoll --param connections=1";
    assert!(per_op(answers, "syscalls").is_null(), "unknown is not zero");
}

#[test]
fn by_a_user_without_rights() {
    skip_unless!(needs::root("to become a user without rights"));
    let bench = Bench::new();
    bench.open_to_all();
    counts_are_right(finish(as_nobody(&mut bench.command(&short(RUN)))));
}

#[test]
fn counts_are_absent_if_the_tracer_is_denied_too() {
    let bench = Bench::new();
    let calls = [libc::SYS_perf_event_open, libc::SYS_ptrace];
    let said = finish(denied(&mut bench.command(&short("syscall/getppid")), &calls)).with(0);
    assert!(said.err.contains("system calls are not counted: "), "{}", said.err);
    let document = said.json();
    let per_op = &times(&document)[0]["per_op"];
    assert!(per_op.get("syscalls").is_none(), "unknown is not zero: {per_op}");
    assert!(per_op["page_faults"].is_number(), "the rest is counted: {per_op}");
}
