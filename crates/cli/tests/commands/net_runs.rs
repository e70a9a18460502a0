//! The area `net` as a user runs it: servers answer, limits are reported, and nothing is left in any case of termination.
//!
//! `OSCOST_KILLS=50 cargo test -p oscost --test commands net_runs::` kills more often than a default test.

use crate::common::linux::{
    denied, nobody_is_left, nothing_is_left, with_descriptors, without_network,
};
use crate::common::{
    Bench, calls_counted, figure, finish, is_limited, killed_halfway, kills, needs, short,
    skip_unless, times,
};
use serde_json::Value;

/// The figure of a metric at the only point that has it.
#[track_caller]
fn value(document: &Value, metric: &str) -> f64 {
    figure(document, metric, &[])
}

#[test]
fn each_case_reports_its_metrics() {
    let bench = Bench::new();
    let answer = bench.measured("net/answer --param arch=epoll --param connections=20");
    assert!(value(&answer, "rate") > 100.0 && value(&answer, "server-cpu") > 0.0, "{answer}");
    assert_eq!(value(&answer, "errors"), 0.0);
    assert!(value(&answer, "reply-p50") <= value(&answer, "reply-p99"));
    assert!(value(&answer, "connect-p50") <= value(&answer, "reply-p50"));

    let requests = bench.measured("net/requests --param arch=threads --param connections=20");
    assert_eq!(value(&requests, "errors"), 0.0);

    let hold = bench.measured("net/hold --param arch=fork,threads --param connections=30");
    let of = |arch: &str, metric: &str| figure(&hold, metric, &[("arch", arch)]);
    assert_eq!((of("fork", "processes"), of("fork", "threads")), (1.0, 1.0));
    assert_eq!((of("threads", "processes"), of("threads", "threads")), (0.0, 1.0));
    assert!(of("fork", "memory") > of("threads", "memory"), "{hold}");
    nobody_is_left(&bench);
}

#[test]
fn the_untimed_pass_counts_what_the_server_calls() {
    skip_unless!(needs::root("to count by tracepoints"));
    let bench = Bench::new();
    let document = bench.measured("net/answer --param arch=fork,epoll --param connections=1");
    for time in times(&document) {
        let Some(calls) = calls_counted(time) else { return };
        // The calls are at least accept, send and close, and with a process for each connection also fork, exit and waiting for
        // it.
        let least = if time["params"]["arch"] == "fork" { 6.0 } else { 3.0 };
        assert!((least..least * 4.0).contains(&calls), "{time}");
    }
}

#[test]
fn every_kind_of_work_is_measured_and_leaves_nothing() {
    let bench = Bench::new();
    let document = bench.measured("net/answer --param arch=threads,fork --param connections=5 --param work=none,cpu:500us,file:4k,fsync,dns");
    let of =
        |work: &str, metric: &str| figure(&document, metric, &[("arch", "fork"), ("work", work)]);
    for work in ["none", "cpu:500us", "file:4k", "fsync", "dns"] {
        assert_eq!(of(work, "errors"), 0.0, "{work}");
    }
    assert!(of("cpu:500us", "server-cpu") > 250e3, "{document}");
    nothing_is_left(&bench);
    bench.oscost("run net/answer --param work=cpu:2s").with(2).complains(&["cpu:2s", "fsync"]);
}

#[test]
fn overloads_and_slow_clients_are_measured() {
    let bench = Bench::new();
    // Beside other programs a short budget may be up before the first trial.
    let run =
        |what: &str| bench.oscost(&format!("run {what} --quick --budget 1m --json")).with(0).json();
    // The case fails if a request is unaccounted for.
    let overload = run(
        "net/overload --param arch=epoll --param load=2 --param patience=100ms --param backlog=128",
    );
    assert!(value(&overload, "offered") > value(&overload, "capacity"), "{overload}");
    assert!(value(&overload, "goodput") <= value(&overload, "offered"), "{overload}");
    let slow = run("net/slow --param arch=epoll --param slow=30 --param connections=2");
    // How many clients are served is a matter of what else the machine does.
    assert!(value(&slow, "rate") > 0.0, "{slow}");
    assert!((0.0..=1.0).contains(&value(&slow, "slow-served")), "{slow}");
    nobody_is_left(&bench);
}

#[test]
fn unsupported_architectures_are_reported_and_not_measured() {
    let bench = Bench::new();
    let run = "run net/answer --param arch=iocp --param connections=1 --quick --json";
    let document = bench.oscost(run).with(3).json();
    let [reason] = reasons(&document)[..] else { panic!("{document}") };
    assert!(reason.contains("Windows"), "{reason}");
    bench.oscost("run net --param arch=nginx").with(2).complains(&["nginx", "epoll"]);
}

/// The reasons of all points of a document, which all are unsupported.
#[track_caller]
fn reasons(document: &Value) -> Vec<&str> {
    let all = times(document);
    assert!(!all.is_empty(), "{document}");
    assert!(all.iter().all(|time| time["outcome"] == "unsupported"), "{document}");
    all.iter().map(|time| time["reason"].as_str().expect("a reason")).collect()
}

#[test]
fn what_the_system_denies_is_unsupported_with_the_remedy() {
    let bench = Bench::new();
    let run = "run net/answer net/requests net/hold --param arch=io_uring --param connections=1 --quick --json";
    let rings = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let document = finish(denied(&mut bench.command(run), &rings)).with(3).json();
    for reason in reasons(&document) {
        assert!(reason.starts_with("io_uring_setup: Operation not permitted"), "{reason}");
        assert!(reason.contains("seccomp"), "{reason}");
    }
    let run = "run net/answer mail/send ipc/tcp ipc/udp --quick --json";
    let document = finish(denied(&mut bench.command(run), &[libc::SYS_socket])).with(3).json();
    for reason in reasons(&document) {
        assert!(reason.contains("Operation not permitted"), "{reason}");
    }
}

#[test]
fn without_loopback_nothing_is_waited_for() {
    skip_unless!(needs::network_namespaces());
    let bench = Bench::new();
    let run =
        "run net/answer net/hold net/slow mail/send ipc/tcp ipc/tcp-connect ipc/udp --quick --json";
    let document = finish(without_network(&mut bench.command(run))).with(3).json();
    for reason in reasons(&document) {
        assert!(reason.starts_with("loopback is down (ip link set lo up)"), "{reason}");
    }
    // Points that need no network are measured.
    let document =
        finish(without_network(&mut bench.command(&short("net/answer ipc/pipe")))).with(0).json();
    let of_pipe = times(&document).into_iter().find(|time| time["case"] == "ipc/pipe");
    assert_eq!(of_pipe.expect("the case")["outcome"], "measured", "{document}");
}

#[test]
fn a_network_namespace_is_used_or_rejected_with_the_reason() {
    let bench = Bench::new();
    let run = "net/answer --netns --param arch=epoll --param connections=5";
    let document = bench.oscost(&short(run)).ended().json();
    let [time] = times(&document)[..] else { panic!("{document}") };
    assert_eq!(time["params"]["network"], "veth");
    match time["outcome"].as_str() {
        Some("measured") => assert_eq!(value(&document, "errors"), 0.0),
        Some("unsupported") => {
            let why = time["reason"].as_str().expect("a reason");
            assert!(why.contains("namespace") || why.contains("ip"), "{why}");
            let _ = needs::granted(Some(why));
        }
        other => panic!("{other:?}: {time}"),
    }
    nobody_is_left(&bench);
}

#[test]
fn limits_that_shorten_a_sweep_are_reported_with_the_remedy() {
    let bench = Bench::new();
    let run = "net/answer --param arch=epoll --param connections=10,500";
    let said = finish(with_descriptors(&mut bench.command(&short(run)), 256)).with(0);
    let note = said.err.lines().find(|line| line.contains("ulimit")).expect("a note");
    assert!(note.contains("256") && note.contains("500 connections"), "{note}");
    is_limited(&said.json(), ["10", "500"], "256");
}

#[test]
fn however_it_is_killed_no_server_and_no_network_is_left() {
    for nth in 0..kills(3) {
        let bench = Bench::new();
        let archs = ["fork,threads", "prefork,io_uring", "exec,epoll"][nth % 3];
        let network = ["loopback", "loopback,veth"][nth % 2];
        let run = format!(
            "run net/answer net/requests --param arch={archs} --param connections=50 --param network={network} --quick"
        );
        killed_halfway(&bench, &run, 1_600, nth);
        nothing_is_left(&bench);
    }
}
