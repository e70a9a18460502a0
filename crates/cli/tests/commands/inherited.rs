//! Programs inherit signal settings, limits and denied calls from what starts them: each start ends with a figure or with a
//! sentence that names cause and remedy, within its time, and leaves nothing behind.

use std::process::Command;

use crate::common::hosted::Hosted;
use crate::common::linux::{
    before, closed, denied, is_listening, limited, signal, signal_group, started_apart, users_of,
    with_file_system, with_signal, without_network,
};
use crate::common::{
    Bench, PROGRAM, Said, at_once, finish, needs, run, said_by, short, skip_unless, started, times,
    until,
};

/// Commands that run for long, here for less than a second.
const LONG: &[&str] = &[
    "run clock/std-instant --quick --budget 300ms",
    "time --runs 2 -- sleep 0.2",
    "concurrency --jobs 3 --length 2ms..3ms --bound wait --budget 500ms",
];

/// Further commands that run for long, which need a server, a sink, a list or another file. `SERVER` and `SINK` stand for
/// addresses.
const FURTHER: &[&str] = &[
    "run clock/std-instant --quick --budget 300ms --on native",
    "noise clock/std-instant --quick --budget 300ms --runs 2",
    "check claims.toml --quick --budget 300ms",
    "study study.toml",
    "agent",
    "net load --to SERVER --protocol 450 --concurrency 3 --duration 200ms",
    "mail send --list list --message message --from us@oscost.test --relay SINK --give-up 2s",
    "mail send --list list --message message --from us@oscost.test --relay SINK --sweep 1..2 --step 100ms --passes 1",
];

/// A claim that holds on any machine.
const CLAIM: &str = r#"
[[claim]]
name = "clock"
sentence = "Reading the clock takes less than a second."
a.case = "clock/std-instant"
relation = "< 1 s"
"#;

/// A study of that claim, apart from it.
const STUDY: &str = r#"
name = "clock"
title = "What does a clock cost?"
question = "Is it cheap?"
source = "This test."
budget = "300ms"
[[measure]]
cases = ["clock/std-instant"]
"#;

/// Commands that run until they are asked to end.
const ENDLESS: &[&str] = &[
    "net serve --arch epoll --listen 127.0.0.1:0",
    "net serve --arch fork --listen 127.0.0.1:0 --workers 2",
    "mail sink --listen 127.0.0.1:0",
];

/// The start of which commands that need a server are left out, and which needs root.
const ALONE: &str = "no loopback";

/// What a start changes.
type Start = (&'static str, fn(&mut Command));

const STARTS: &[Start] = &[
    ("as usual", |_| ()),
    ("SIGHUP ignored", |command| ignoring(command, libc::SIGHUP)),
    ("SIGINT ignored", |command| ignoring(command, libc::SIGINT)),
    ("SIGTERM ignored", |command| ignoring(command, libc::SIGTERM)),
    ("SIGCHLD ignored", |command| ignoring(command, libc::SIGCHLD)),
    ("SIGPIPE at its default", |command| _ = with_signal(command, libc::SIGPIPE, libc::SIG_DFL)),
    ("SIGXFSZ ignored", |command| ignoring(command, libc::SIGXFSZ)),
    ("SIGALRM ignored", |command| ignoring(command, libc::SIGALRM)),
    ("all signals blocked", blocked),
    ("no standard input", |command| _ = closed(command, 0)),
    ("no standard error", |command| _ = closed(command, 2)),
    ("64 descriptors", |command| _ = limited(command, libc::RLIMIT_NOFILE, 64)),
    ("16 descriptors", |command| _ = limited(command, libc::RLIMIT_NOFILE, 16)),
    ("files of 1 MiB", |command| _ = limited(command, libc::RLIMIT_FSIZE, 1 << 20)),
    ("files of 40 KiB", |command| _ = limited(command, libc::RLIMIT_FSIZE, 40 << 10)),
    ("no locked memory", |command| _ = limited(command, libc::RLIMIT_MEMLOCK, 0)),
    ("no pending signals", |command| _ = limited(command, libc::RLIMIT_SIGPENDING, 0)),
    ("256 MiB of memory", |command| _ = limited(command, libc::RLIMIT_AS, 256 << 20)),
    ("no core files", |command| _ = limited(command, libc::RLIMIT_CORE, 0)),
    ("a small stack", |command| _ = limited(command, libc::RLIMIT_STACK, 1 << 20)),
    ("clone3 denied", |command| _ = denied(command, &[libc::SYS_clone3])),
    ("pinning denied", |command| _ = denied(command, &[libc::SYS_sched_setaffinity])),
    ("perf denied", |command| _ = denied(command, &[libc::SYS_perf_event_open])),
    (ALONE, |command| _ = without_network(command)),
    ("prctl denied", |command| _ = denied(command, &[libc::SYS_prctl])),
];

fn ignoring(command: &mut Command, signal: libc::c_int) {
    with_signal(command, signal, libc::SIG_IGN);
}

fn blocked(command: &mut Command) {
    before(command, || {
        // SAFETY: sigfillset initialises the set.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        }
        Ok(())
    });
}

/// Ends with figures, or with a sentence; a panic, an abort or a signal is neither.
fn check(what: &str, said: &Said) {
    let code = said.code.unwrap_or_else(|| panic!("{what}: ended by a signal: {}", said.err));
    assert!(
        [0, 3].contains(&code) || code == 2 && !said.err.contains("Usage:"),
        "{what}: {code}\n{}\n{}",
        said.out,
        said.err
    );
    assert!(!said.err.contains("panicked"), "{what}: {}", said.err);
    let is_said = code == 0 || !said.err.trim().is_empty() || !said.out.trim().is_empty();
    assert!(is_said || what.contains("no standard error"), "{what}: not a word");
}

#[test]
fn each_odd_start_ends_with_a_figure_or_a_sentence() {
    let bench = Bench::new();
    let server = Hosted::start(&bench, "net serve --arch epoll");
    let sink = Hosted::start(&bench, "mail sink");
    let peers = [server.address, sink.address].map(|address| address.to_string());
    // The programs mostly wait, and nobody reads their figures.
    let may_be_alone = needs::network_namespaces();
    let starts: Vec<_> = STARTS.iter().filter(|start| start.0 != ALONE || may_be_alone).collect();
    for some in starts.chunks(4) {
        at_once(some, |(name, change)| start_all(name, *change, &peers));
    }
    server.stop();
    sink.stop();
}

/// Starts all commands with this change at once.
fn start_all(name: &str, change: fn(&mut Command), [server, sink]: &[String; 2]) {
    let lines = [LONG, FURTHER, ENDLESS].concat().into_iter();
    let needs_peer = |line: &str| line.contains("SERVER") || line.contains("SINK");
    let all = lines.filter(|line| name != ALONE || !needs_peer(line)).map(|line| {
        let bench = Bench::new();
        bench.write("list", "a@oscost.test\nb@oscost.test\n");
        bench.write("message", "From: us@oscost.test\n\nHello\n");
        bench.write("claims.toml", CLAIM);
        bench.write("study.toml", &[STUDY, CLAIM].concat());
        let mut command = bench.command(&line.replace("SERVER", server).replace("SINK", sink));
        change(&mut command);
        let child = started(&mut command);
        (line, bench, child)
    });
    for (line, bench, mut child) in all.collect::<Vec<_>>() {
        let what = format!("{name}: {line}");
        if ENDLESS.contains(&line) {
            let pid = child.id();
            let mut has_ended = false;
            until(&format!("{what} listens"), || {
                has_ended = child.try_wait().expect("our own child").is_some();
                has_ended || is_listening(pid)
            });
            if !has_ended {
                let other = name == "SIGTERM ignored";
                signal(&child, if other { libc::SIGINT } else { libc::SIGTERM });
            }
        }
        let said = said_by(child);
        check(&what, &said);
        until(&format!("{what}: no process is left"), || users_of(&bench.temp()).is_empty());
    }
}

/// `mail sink` called it wrong usage, with the remedy for ports below 1024, and `mail send` deferred all mail.
#[test]
fn what_the_system_denies_to_servers_and_clients_is_no_wrong_usage() {
    let (listen, to) = ("--listen 127.0.0.1:0", "127.0.0.1:9");
    let send =
        format!("mail send --list list --message message --from us@oscost.test --relay {to}");
    let load = format!("net load --to {to} --protocol 450");
    let serve = format!("net serve --arch select {listen}");
    let sink = format!("mail sink {listen}");
    let pinned = |line: &str| format!("{line} --bind-cpu 0");
    let sockets = ["Operation not permitted", "seccomp", "permit them"];
    for (line, call, words) in [
        (&serve, libc::SYS_socket, &sockets[..]),
        (&sink, libc::SYS_socket, &sockets),
        (&load, libc::SYS_socket, &sockets),
        (&send, libc::SYS_socket, &sockets),
        (&format!("{load} --source 127.0.0.1"), libc::SYS_socket, &sockets),
        (&format!("{load} --server-report {to}"), libc::SYS_socket, &sockets),
        (&format!("{send} --source 127.0.0.1"), libc::SYS_socket, &sockets),
        (&sink, libc::SYS_epoll_create1, &["event loop: Operation not permitted"]),
        (&send, libc::SYS_epoll_create1, &["Operation not permitted"]),
        (&pinned(&serve), libc::SYS_sched_setaffinity, &["--bind-cpu: sched_setaffinity"]),
        (&pinned(&sink), libc::SYS_sched_setaffinity, &["--bind-cpu: sched_setaffinity"]),
        (&pinned(&send), libc::SYS_sched_setaffinity, &["--bind-cpu: sched_setaffinity"]),
    ] {
        let bench = Bench::new();
        bench.write("list", "a@oscost.test\n");
        bench.write("message", "From: us@oscost.test\n\nHello\n");
        let said = finish(denied(&mut bench.command(line), &[call])).with(3);
        for text in ["unsupported on this system: "].iter().chain(words) {
            assert!(said.err.contains(text), "{line}: {}", said.err);
        }
    }
    let bench = Bench::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    for command in ["net serve --arch select", "mail sink"] {
        let said = bench.oscost(&format!("{command} --listen {address}")).with(2);
        said.complains(&["cannot listen at", "choose another port"]);
    }
}

/// What the system denies to a task of a round was told to nobody: its parent said only that it "could not join".
#[test]
fn the_call_that_is_denied_to_a_task_of_a_round_is_named() {
    let bench = Bench::new();
    let reasons = |command: &mut Command| -> Vec<String> {
        let document = finish(command).ended().json();
        let results = times(&document);
        assert!(!results.is_empty());
        let reason = |result: &&serde_json::Value| match result["outcome"].as_str() {
            Some("unsupported") => result["reason"].as_str().map(str::to_owned),
            _ => panic!("{result}"),
        };
        results.iter().map(|result| reason(result).expect("a reason")).collect()
    };
    let locks = "lock/sysv-sem lock/flock scale/lseek --param workers=2";
    let switches = "switch/pipe switch/futex --param place=other";
    for run in [locks, switches] {
        let mut command = bench.command(&short(run));
        for reason in reasons(denied(&mut command, &[libc::SYS_sched_setaffinity])) {
            assert!(reason.starts_with("sched_setaffinity: Operation not permitted"), "{reason}");
        }
    }
    let mut command =
        bench.command(&short("signal/sigqueue signal/sigqueue-process timer/create-timer"));
    limited(&mut command, libc::RLIMIT_SIGPENDING, 0);
    for reason in reasons(&mut command) {
        assert!(reason.contains("pending signals, `ulimit -i`"), "{reason}");
    }
}

/// `nohup oscost run &`, and closing the terminal, ended the run.
#[test]
fn a_signal_that_was_ignored_at_the_start_ends_nothing() {
    for signal in [libc::SIGHUP, libc::SIGINT] {
        for line in LONG {
            let bench = Bench::new();
            let mut command = bench.command(line);
            ignoring(&mut command, signal);
            let run = started_apart(&mut command);
            until(&format!("{line} is under way"), || bench.store().exists());
            signal_group(run.id(), signal);
            let said = said_by(run);
            let is_done = said.code.is_some() && !said.err.contains("stopped");
            assert!(is_done, "{signal} {line}: {}", said.err);
        }
    }
}

#[test]
fn a_store_on_a_full_disk_can_be_read() {
    skip_unless!(needs::mounts());
    let bench = Bench::new();
    let folder = bench.folder("small");
    let oscost = PROGRAM;
    let script = format!(
        "set -e; cd small; export OSCOST_STORE=$PWD/s.db; {oscost} time -r 1 -- true >/dev/null 2>&1
         dd if=/dev/zero of=fill bs=4k 2>/dev/null || true
         {oscost} runs; {oscost} show; {oscost} export last >/dev/null"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(bench.path("."));
    run(with_file_system(&mut command, &folder, "size=1m")).with(0).says(&["true"]);
}

#[test]
fn a_dash_is_standard_output() {
    let bench = Bench::new();
    bench.oscost("time -r 3 -- true").with(0);
    let report = bench.oscost("report last -o -").with(0);
    assert!(
        report.out.starts_with("<!DOCTYPE html>"),
        "{}",
        &report.out[..80.min(report.out.len())]
    );
    bench.oscost("export last --output -").with(0).says(&["time/command"]);
    assert!(!bench.path("-").exists(), "no file has that name");
}
