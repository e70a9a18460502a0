//! `oscost net serve` as a user starts and ends it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use servers::ARCHITECTURES;

use crate::common::hosted::{Listening, next_address};
use crate::common::linux::{denied, descendants, without_network};
use crate::common::{Bench, at_once, finish, needs, skip_unless, started, until};

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
    skip_unless!(needs::network_namespaces());
    let bench = Bench::new();
    let here: Vec<_> = ARCHITECTURES.iter().filter(|one| one.check().is_ok()).collect();
    at_once(&here, |architecture| {
        let serve = format!("net serve --arch {} --listen 127.0.0.1:2525", architecture.name);
        Listening::start(without_network(&mut bench.command(&serve))).stop();
    });
    let serve = "net serve --arch fork --listen 127.0.0.1:2525 --report";
    let mut command = bench.command(serve);
    let piped = without_network(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = started(piped);
    let stdout = child.stdout.as_mut().expect("a pipe");
    let mut said = String::new();
    BufReader::with_capacity(1, stdout).read_line(&mut said).expect("a report");
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
        let serve = format!(
            "net serve --arch {} --listen 127.0.0.1:0 --workers 4 --timeout 2s",
            architecture.name
        );
        let mut server = Listening::start(&mut bench.command(&serve));
        let address = server.address;
        assert_eq!(reply_of(address), "450 too busy\r\n", "{}", architecture.name);
        let below = descendants(server.child().id());
        server.stop();
        for one in below {
            let is_alive = platform::pid::is_alive(one);
            assert!(!is_alive, "{}: {one} goes on", architecture.name);
        }
        assert!(TcpStream::connect(address).is_err(), "{} listens still", architecture.name);
        TcpListener::bind(address).unwrap_or_else(|e| panic!("{}: {e}", architecture.name));
    });
}

/// Neither an idle client, nor half a request, nor work that takes long keeps a server for the timeout of its clients.
#[test]
fn clients_do_not_keep_a_server_that_is_asked_to_end() {
    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    let bench = Bench::new();
    let here: Vec<_> = ARCHITECTURES.iter().filter(|one| one.check().is_ok()).collect();
    at_once(&here, |architecture| {
        let serve = format!(
            "net serve --arch {} --protocol http --listen 127.0.0.1:0 --workers 4 --timeout 10m --report-at 127.0.0.1:0",
            architecture.name
        );
        let mut server = Listening::start(&mut bench.command(&serve));
        let reports = next_address(server.child().stderr.as_mut().expect("a pipe"));
        let silent = TcpStream::connect(reports).expect("it reports");
        let clients = [GET, &GET[..9]].map(|rest| {
            let mut client = TcpStream::connect(server.address).expect("it listens");
            client.write_all(GET).expect("a socket");
            client.read_exact(&mut [0; 40]).expect("a reply");
            client.write_all(rest).expect("a socket");
            client
        });
        let below = descendants(server.child().id());
        server.stop();
        until("its children have ended", || !below.iter().any(|&one| platform::pid::is_alive(one)));
        drop((silent, clients));
    });
    let serve = "net serve --arch epoll --protocol http --listen 127.0.0.1:0 --work cpu:1s";
    let server = Listening::start(&mut bench.command(serve));
    let mut client = TcpStream::connect(server.address).expect("it listens");
    client.write_all(&GET.repeat(400)).expect("a socket");
    server.stop();
}

/// Checks the report over the network, as from a server on another machine: its CPU time.
#[test]
fn a_server_reports_to_a_load_generator() {
    let bench = Bench::new();
    let serve = "net serve --arch threads --protocol echo --listen 127.0.0.1:0 --report-at 127.0.0.1:0 \
                 --work cpu:100us --memory 1m";
    let mut server = Listening::start(&mut bench.command(serve));
    let at = server.address;
    let reports = next_address(server.child().stderr.as_mut().expect("a pipe"));
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
    server.stop();
    bench.oscost(&load).with(2).complains(&[&reports.to_string()]);
}

#[test]
fn wrong_usage_is_reported() {
    Bench::new().refuses(&[
        ("net serve --arch epol", &["epol", "epoll", "--arch"]),
        ("net serve --protocol smtp", &["smtp", "450", "http-close"]),
        ("net serve --listen nowhere", &["nowhere", "--listen"]),
        ("net serve --workers 0", &["--workers"]),
        ("net serve --listen 0.0.0.0:0", &["0.0.0.0:0", "--beyond-this-machine"]),
        ("net serve --report-at 192.0.2.1:1", &["192.0.2.1:1", "--beyond-this-machine"]),
        ("net serve --listen 192.0.2.1:1 --beyond-this-machine", &["192.0.2.1:1"]),
        ("net serve --work sleep", &["sleep", "cpu:TIME"]),
        ("net serve --work dns", &["--nameserver"]),
        ("net serve --memory 65g", &["65g", "64g"]),
    ]);
}
