//! `oscost net serve` as a user starts and ends it.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use common::linux::{denied, descendants, until, without_network};
use common::{Bench, at_once, finish, said_by, started};
use servers::ARCHITECTURES;

/// The first line of a server's output, which says where it listens.
fn first_line(output: &mut impl Read) -> String {
    let mut said = String::new();
    BufReader::with_capacity(1, output).read_line(&mut said).expect("text");
    said
}

/// Starts a server. Returns it and its address when it listens.
fn start(bench: &Bench, architecture: &str) -> (Child, SocketAddr) {
    let arguments =
        format!("net serve --arch {architecture} --listen 127.0.0.1:0 --workers 4 --timeout 2s");
    let mut child = started(&mut bench.command(&arguments));
    // The server prints nothing more before its end.
    let said = first_line(child.stderr.as_mut().expect("a pipe"));
    let address = said.split_whitespace().find_map(|word| word.trim_end_matches(';').parse().ok());
    (child, address.unwrap_or_else(|| panic!("no address in: {said}")))
}

fn reply_of(address: SocketAddr) -> String {
    let mut reply = String::new();
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream.read_to_string(&mut reply).expect("a reply");
    reply
}

/// Checks servers that no connection can reach, and so none can wake: they end at SIGTERM, or when their input ends.
#[test]
fn servers_without_a_network_end() {
    if testing::skip_unless_root("to create a network namespace for a server") {
        return;
    }
    let bench = Bench::new();
    let here: Vec<_> = ARCHITECTURES.iter().filter(|one| one.check().is_ok()).collect();
    at_once(&here, |architecture| {
        let serve = format!("net serve --arch {} --listen 127.0.0.1:2525", architecture.name);
        let mut child = started(without_network(&mut bench.command(&serve)));
        first_line(child.stderr.as_mut().expect("a pipe"));
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        said_by(child).with(0);
    });
    let serve = "net serve --arch fork --listen 127.0.0.1:2525 --report";
    let mut command = bench.command(serve);
    let piped = without_network(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let said = first_line(child.stdout.as_mut().expect("a pipe"));
    assert!(said.contains("listening"), "{said}");
    drop(child.stdin.take());
    until("it has ended", || child.try_wait().expect("our own child").is_some());
}

/// What the system denies is said before the server claims to serve.
#[test]
fn a_server_that_cannot_serve_says_so_at_once() {
    let bench = Bench::new();
    let rings = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    for (arch, calls, words) in [
        ("io_uring", &rings[..], &["io_uring_setup: Operation not permitted", "seccomp"][..]),
        ("io_uring", &rings[1..], &["io_uring_", "Operation not permitted"]),
        ("epoll", &[libc::SYS_epoll_create1], &["epoll_create1: Operation not permitted"]),
        ("epoll-per-cpu", &[libc::SYS_epoll_create1], &["epoll_create1"]),
        ("tokio", &[libc::SYS_eventfd2], &["tokio's runtime: Operation not permitted"]),
        ("poll", &[libc::SYS_socket], &["listen at 127.0.0.1:0: Operation not permitted"]),
    ] {
        let serve = format!("net serve --arch {arch} --listen 127.0.0.1:0");
        let said = finish(denied(&mut bench.command(&serve), calls)).with(3);
        assert!(!said.err.contains(" serves "), "{arch}: {}", said.err);
        said.complains(&["unsupported on this system"]).complains(words);
    }
}

#[test]
fn every_server_ends_at_sigterm_and_leaves_nothing() {
    let bench = Bench::new();
    let here: Vec<_> = ARCHITECTURES.iter().filter(|one| one.check().is_ok()).collect();
    at_once(&here, |architecture| {
        let (child, address) = start(&bench, architecture.name);
        assert_eq!(reply_of(address), "450 too busy\r\n", "{}", architecture.name);
        let pid = child.id();
        let below = descendants(pid);
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(pid as libc::pid_t, libc::SIGTERM) };
        said_by(child).with(0);
        for one in below {
            assert!(!platform::pid::is_alive(one), "{}: {one} goes on", architecture.name);
        }
        assert!(TcpStream::connect(address).is_err(), "{} listens still", architecture.name);
        TcpListener::bind(address).unwrap_or_else(|e| panic!("{}: {e}", architecture.name));
    });
}

/// Checks the report over the network, as from a server on another machine: its CPU time.
#[test]
fn a_server_reports_to_a_load_generator() {
    let bench = Bench::new();
    let serve = "net serve --arch threads --protocol echo --listen 127.0.0.1:0 --report-at 127.0.0.1:0 \
                 --work cpu:100us --memory 1m";
    let mut child = started(&mut bench.command(serve));
    let stderr = child.stderr.as_mut().expect("a pipe");
    let mut lines = BufReader::with_capacity(1, stderr).lines();
    let mut address = || {
        let said = lines.next().expect("a line").expect("text");
        let found = said.split_whitespace().find_map(|w| w.trim_end_matches(';').parse().ok());
        found.unwrap_or_else(|| panic!("no address in: {said}"))
    };
    let (at, reports): (SocketAddr, SocketAddr) = (address(), address());
    let load = format!(
        "net load --to {at} --protocol echo --server-report {reports} --threads 2 --concurrency 4 --duration 300ms --json"
    );
    let document = bench.oscost(&load).with(0).json();
    let step = &document["steps"][0];
    let spent = step["server_cpu_ns"].as_f64().expect("a number");
    let replies = step["replies"].as_f64().expect("a number");
    // Each reply takes some work.
    assert!(spent / replies > 50e3 && step["client_threads"] == 2, "{document}");
    // A second generator is served after the first one.
    bench.oscost(&load).with(0);
    // SAFETY: the process is our child and has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    said_by(child).with(0);
    bench.oscost(&load).with(2).complains(&[&reports.to_string()]);
}

#[test]
fn wrong_usage_is_reported() {
    let bench = Bench::new();
    bench.oscost("net serve --arch epol").with(2).complains(&["epol", "epoll", "--arch"]);
    bench.oscost("net serve --protocol smtp").with(2).complains(&["smtp", "450", "http-close"]);
    bench.oscost("net serve --listen nowhere").with(2).complains(&["nowhere", "--listen"]);
    bench.oscost("net serve --workers 0").with(2).complains(&["--workers"]);
    bench.oscost("net serve --work sleep").with(2).complains(&["sleep", "cpu:TIME"]);
    bench.oscost("net serve --work dns").with(2).complains(&["--nameserver"]);
    bench.oscost("net serve --memory 65g").with(2).complains(&["65g", "64g"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound");
    let listen = format!("net serve --arch threads --listen {address}");
    bench.oscost(&listen).with(2).complains(&[&address.to_string(), "in use"]);
}
