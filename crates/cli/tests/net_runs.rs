//! The area `net` as a user runs it: servers answer, limits are reported, and nothing is left in any case of termination.
//!
//! `OSCOST_KILLS=50 cargo test -p oscost --test net_runs` kills more often than a default test.
#![cfg(target_os = "linux")]

mod common;

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use common::linux::{
    denied, descendants, signal_descendant, until, users_of, with_descriptors, without_network,
};
use common::{Bench, entries, finish, said_by, started, times};
use serde_json::Value;

/// The value of a metric at the only point that has it.
#[track_caller]
fn value(document: &Value, metric: &str) -> f64 {
    let results = document["results"].as_array().expect("results");
    let found = results.iter().find(|result| result["metric"] == metric);
    let found = found.unwrap_or_else(|| panic!("no {metric}: {document}"));
    found["estimate"]["median"].as_f64().unwrap_or_else(|| panic!("{found}"))
}

#[test]
fn each_case_reports_its_metrics() {
    let bench = Bench::new();
    let run = |what: &str| {
        bench
            .oscost(&format!("run {what} --quick --precision 50% --budget 60s --json"))
            .with(0)
            .json()
    };
    let answer = run("net/answer --param arch=epoll --param connections=20");
    assert!(value(&answer, "rate") > 100.0 && value(&answer, "server-cpu") > 0.0, "{answer}");
    assert_eq!(value(&answer, "errors"), 0.0);
    assert!(value(&answer, "reply-p50") <= value(&answer, "reply-p99"));
    assert!(value(&answer, "connect-p50") <= value(&answer, "reply-p50"));

    let requests = run("net/requests --param arch=threads --param connections=20");
    assert_eq!(value(&requests, "errors"), 0.0);

    let hold = run("net/hold --param arch=fork,threads --param connections=30");
    let of = |arch: &str, metric: &str| {
        let results = hold["results"].as_array().expect("results");
        let is = |r: &&Value| r["params"]["arch"] == arch && r["metric"] == metric;
        let found = results.iter().find(is).unwrap_or_else(|| panic!("{arch} {metric}: {hold}"));
        found["estimate"]["median"].as_f64().expect("a median")
    };
    assert_eq!((of("fork", "processes"), of("fork", "threads")), (1.0, 1.0));
    assert_eq!((of("threads", "processes"), of("threads", "threads")), (0.0, 1.0));
    assert!(of("fork", "memory") > of("threads", "memory"), "{hold}");
    until("no process is left", || users_of(&bench.temp()).is_empty());
}

#[test]
fn the_untimed_pass_counts_what_the_server_calls() {
    if testing::skip_unless_root("tracepoints") {
        return;
    }
    let bench = Bench::new();
    let run = "run net/answer --param arch=fork,epoll --param connections=1 --quick --precision 50% --budget 60s --json";
    let document = bench.oscost(run).with(0).json();
    for time in times(&document) {
        let Some(calls) = time["per_op"]["syscalls"].as_f64() else {
            return testing::skip("system calls are not counted here");
        };
        // The calls are at least accept, send and close, and with a process for each connection also fork, exit and waiting for
        // it.
        let least = if time["params"]["arch"] == "fork" { 6.0 } else { 3.0 };
        assert!((least..least * 4.0).contains(&calls), "{time}");
    }
}

#[test]
fn every_kind_of_work_is_measured_and_leaves_nothing() {
    let bench = Bench::new();
    let run = "run net/answer --param arch=threads,fork --param connections=5 --quick --precision 50% --budget 60s --json \
               --param work=none,cpu:500us,file:4k,fsync,dns";
    let document = bench.oscost(run).with(0).json();
    let of = |work: &str, metric: &str| {
        let results = document["results"].as_array().expect("results");
        let is = |r: &&Value| {
            r["params"]["arch"] == "fork" && r["params"]["work"] == work && r["metric"] == metric
        };
        let found =
            results.iter().find(is).unwrap_or_else(|| panic!("{work} {metric}: {document}"));
        found["estimate"]["median"].as_f64().expect("a median")
    };
    for work in ["none", "cpu:500us", "file:4k", "fsync", "dns"] {
        assert_eq!(of(work, "errors"), 0.0, "{work}");
    }
    assert!(of("cpu:500us", "server-cpu") > 250e3, "{document}");
    until("no process is left", || users_of(&bench.temp()).is_empty());
    assert_eq!(entries(&bench.temp()), Vec::<String>::new());
    bench.oscost("run net/answer --param work=cpu:2s").with(2).complains(&["cpu:2s", "fsync"]);
}

#[test]
fn overloads_and_slow_clients_are_measured() {
    let bench = Bench::new();
    // Beside other programs a short budget may be up before the first trial.
    let run =
        |what: &str| bench.oscost(&format!("run {what} --quick --budget 1m --json")).with(0).json();
    // The case fails if a request is unaccounted for.
    let overload = run("net/overload --param arch=epoll --param load=2 --param patience=100ms");
    assert!(value(&overload, "offered") > value(&overload, "capacity"), "{overload}");
    assert!(value(&overload, "goodput") <= value(&overload, "offered"), "{overload}");
    let slow = run("net/slow --param arch=epoll --param slow=30 --param connections=2");
    // How many clients are served is a matter of what else the machine does.
    assert!(value(&slow, "rate") > 0.0, "{slow}");
    assert!((0.0..=1.0).contains(&value(&slow, "slow-served")), "{slow}");
    until("no process is left", || users_of(&bench.temp()).is_empty());
}

#[test]
fn unsupported_architectures_are_reported_and_not_measured() {
    let bench = Bench::new();
    let said = bench
        .oscost("run net/answer --param arch=iocp --param connections=1 --quick --json")
        .with(3);
    let document = said.json();
    let [time] = times(&document)[..] else { panic!("{document}") };
    assert_eq!(time["outcome"], "unsupported");
    assert!(time["reason"].as_str().is_some_and(|why| why.contains("Windows")), "{time}");
    bench.oscost("run net --param arch=nginx").with(2).complains(&["nginx", "epoll"]);
}

/// The reasons of all points of a document, which all are unsupported.
#[track_caller]
fn reasons(document: &Value) -> Vec<&str> {
    let all = times(document);
    assert!(!all.is_empty(), "{document}");
    all.into_iter()
        .map(|time| {
            assert_eq!(time["outcome"], "unsupported", "{time}");
            time["reason"].as_str().expect("a reason")
        })
        .collect()
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
    let load = "net load --to 127.0.0.1:9 --protocol 450 --duration 100ms";
    let said = finish(denied(&mut bench.command(load), &[libc::SYS_socket])).with(3);
    said.complains(&["unsupported on this system: socket: Operation not permitted"]);
}

#[test]
fn without_loopback_nothing_is_waited_for() {
    if testing::skip_unless_root("to create a network namespace") {
        return;
    }
    let bench = Bench::new();
    let run =
        "run net/answer net/hold net/slow mail/send ipc/tcp ipc/tcp-connect ipc/udp --quick --json";
    let document = finish(without_network(&mut bench.command(run))).with(3).json();
    for reason in reasons(&document) {
        assert!(reason.starts_with("loopback is down (ip link set lo up)"), "{reason}");
    }
    // Points that need no network are measured.
    let run = "run net/answer ipc/pipe --quick --precision 50% --budget 60s --json";
    let document = finish(without_network(&mut bench.command(run))).with(0).json();
    let of_pipe = times(&document).into_iter().find(|time| time["case"] == "ipc/pipe");
    assert_eq!(of_pipe.expect("the case")["outcome"], "measured", "{document}");
}

#[test]
fn a_network_namespace_is_used_or_rejected_with_the_reason() {
    let bench = Bench::new();
    let run = "run net/answer --netns --param arch=epoll --param connections=5 --quick --precision 50% --budget 60s --json";
    let document = bench.oscost(run).ended().json();
    let [time] = times(&document)[..] else { panic!("{document}") };
    assert_eq!(time["params"]["network"], "veth");
    match time["outcome"].as_str() {
        Some("measured") => assert_eq!(value(&document, "errors"), 0.0),
        Some("unsupported") => {
            let why = time["reason"].as_str().expect("a reason");
            assert!(why.contains("namespace") || why.contains("ip"), "{why}");
            testing::skip(&format!("a network namespace: {why}"));
        }
        other => panic!("{other:?}: {time}"),
    }
    until("no process is left", || users_of(&bench.temp()).is_empty());
}

#[test]
fn limits_that_shorten_a_sweep_are_reported_with_the_remedy() {
    let bench = Bench::new();
    let run = "run net/answer --param arch=epoll --param connections=10,500 --quick --precision 50% --budget 60s --json";
    let said = finish(with_descriptors(&mut bench.command(run), 256)).with(0);
    let note = said
        .err
        .lines()
        .find(|line| line.contains("ulimit"))
        .unwrap_or_else(|| panic!("{}", said.err));
    assert!(note.contains("256") && note.contains("500 connections"), "{note}");
    let document = said.json();
    let outcome_of = |connections: &str| {
        let all = times(&document);
        let found = all.into_iter().find(|time| time["params"]["connections"] == connections);
        found.map(|time| (time["outcome"].clone(), time["reason"].clone())).expect("the point")
    };
    assert_eq!(outcome_of("10").0, "measured");
    let (outcome, reason) = outcome_of("500");
    assert_eq!(outcome, "unsupported");
    assert!(reason.as_str().is_some_and(|why| why.contains("256")), "{reason}");
}

#[test]
fn however_it_is_killed_no_server_and_no_network_is_left() {
    let kills: usize = std::env::var("OSCOST_KILLS").map_or(6, |n| n.parse().expect("a number"));
    let random = |limit: usize| RandomState::new().hash_one(Instant::now()) as usize % limit;
    for nth in 0..kills {
        let bench = Bench::new();
        let archs = ["fork,threads", "prefork,io_uring", "exec,epoll"][nth % 3];
        let network = ["loopback", "loopback,veth"][nth % 2];
        let run = format!(
            "run net/answer net/requests --param arch={archs} --param connections=50 --param network={network} --quick"
        );
        let mut run = started(&mut bench.command(&run));
        std::thread::sleep(Duration::from_millis(100 + random(1_500) as u64));
        // The victim is the coordinator, or a process that it has started: a worker, a server, or one of the server's processes.
        if let (all @ [_, ..], 1..) = (&descendants(run.id())[..], nth % 3) {
            signal_descendant(run.id(), all[random(all.len())], libc::SIGKILL);
            std::thread::sleep(Duration::from_millis(random(300) as u64));
        }
        run.kill().expect("our own child");
        said_by(run);
        until("no process is left", || users_of(&bench.temp()).is_empty());
        assert_eq!(entries(&bench.temp()), Vec::<String>::new());
    }
}
