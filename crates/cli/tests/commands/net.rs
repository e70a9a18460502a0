//! `oscost net`: a load on a small test server, as a user would run it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use crate::common::{Bench, Says, free_port};

/// Serves connections with one thread per connection.
fn serving(serve: fn(&mut TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(&mut stream));
        }
    });
    to
}

/// A server whose reply arrives also at clients that send first: closing with unread input would discard it.
fn too_busy() -> SocketAddr {
    serving(|stream| {
        let said = stream.write_all(b"450 too busy\r\n");
        if said.and_then(|()| stream.shutdown(Shutdown::Write)).is_ok() {
            let _ = std::io::copy(stream, &mut std::io::sink());
        }
    })
}

fn echoing() -> SocketAddr {
    serving(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count) = stream.read(&mut buffer)
            && count > 0
            && stream.write_all(&buffer[..count]).is_ok()
        {}
    })
}

#[test]
fn a_ramp_has_a_row_for_each_step() {
    let bench = Bench::new();
    let load = format!("net load --to {} --protocol 450 --concurrency 1..20 --ramp", too_busy());
    let said = bench.oscost(&format!("{load} --duration 200ms")).with(0);
    assert!(said.out.starts_with("450 to 127.0.0.1:"), "{}", said.out);
    for first in ["     1 ", "    10 ", "    20 "] {
        assert!(said.out.lines().any(|line| line.starts_with(first)), "{first:?}: {}", said.out);
    }
    said.out.says(&["server's CPU time unknown: specify its process with --server-pid"]);
    // Percentiles hide a server that stood still.
    said.out.says(&["longest reply: ", " at 20"]);
}

#[test]
fn one_document_has_all_that_was_seen() {
    let bench = Bench::new();
    let pid = std::process::id();
    let load = format!("net load --to {} --protocol echo:100 --json --server-pid {pid}", echoing());
    let said = bench.oscost(&format!("{load} --concurrency 2,4 --duration 200ms"));
    let document = said.with(0).json();
    assert_eq!(document["load"]["protocol"], "echo:100");
    let steps = document["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 2);
    for (step, connections) in steps.iter().zip([2, 4]) {
        assert_eq!(step["open"], connections);
        assert_eq!(step["errors"]["refused"], 0);
        let reply = &step["reply_ns"];
        assert_eq!(reply["count"], step["replies"]);
        assert!(reply["min"].as_u64() <= reply["p50"].as_u64(), "{reply}");
        assert!(reply["p99"].as_u64() <= reply["max"].as_u64(), "{reply}");
        assert!(step["client_busy"].as_f64().is_some_and(|busy| (0.0..=1.0).contains(&busy)));
        let known = cfg!(target_os = "linux");
        assert_eq!(
            step["server_cpu_ns"].is_u64() && step["server"]["memory"].is_u64(),
            known || cfg!(windows)
        );
    }
}

#[test]
fn an_open_loop_and_idle_connections() {
    let bench = Bench::new();
    let load = format!("net load --to {} --protocol echo --concurrency 10", echoing());
    bench
        .oscost(&format!("{load} --rate 100 --duration 500ms"))
        .with(0)
        .says(&["100 requests per second planned, for 500ms"]);
    let said = bench.oscost(&format!("{load} --idle --duration 100ms")).with(0);
    assert!(said.out.starts_with("10 of 10 connections idle"), "{}", said.out);
    let idle = bench.oscost(&format!("{load} --idle --duration 100ms --json")).with(0).json();
    assert_eq!(idle["idle"]["open"], 10);
}

#[test]
fn refused_connections_and_wrong_replies_are_failures() {
    let bench = Bench::new();
    let load = format!("net load --to {} --protocol 450 --duration 100ms", free_port());
    bench.oscost(&format!("{load} --concurrency 1,2,3")).with(3).says(&[" refused"]);
    let load = format!("net load --to {} --protocol http --duration 100ms", too_busy());
    bench.oscost(&load).with(1).says(&["the first wrong reply: from byte 0 on"]);
}

#[test]
fn contradictory_options_are_rejected() {
    let bench = Bench::new();
    bench.refuses(&[
        ("net load", &["--to <ADDRESS>"]),
        ("net load --to localhost --protocol 450", &["'localhost'", "--to"]),
        ("net load --to 127.0.0.1:9 --protocol smtp", &["'smtp'", "450, echo"]),
        ("net load --to 192.0.2.1:25 --protocol 450", &["192.0.2.1:25", "--beyond-this-machine"]),
    ]);
    bench.refuses_with(
        "net load --to 127.0.0.1:9 --protocol 450",
        &[
            ("--concurrency 0", &["'0'", "1 to 1000000"]),
            ("--concurrency 9..1", &["'9..1'", "below its start"]),
            ("--concurrency 1..9", &["1..9 is a range", "--ramp"]),
            ("--concurrency 1,2 --ramp", &["--ramp", "not a list"]),
            ("--concurrency -5", &["'-5'", "not a count"]),
            ("--duration 5", &["'5'", "not a duration"]),
            ("--rate 0", &["'0'", "per second"]),
            ("--rate 5 --ramp", &["--rate", "--ramp"]),
            ("--status 503", &["--status is for http"]),
            ("--idle", &["--idle", "closes each connection after its reply"]),
            ("--source ::1", &["::1", "IPv6"]),
            // An address that no machine has (RFC 5737).
            ("--source 192.0.2.9", &["--source 192.0.2.9: cannot connect from this address"]),
            ("--bind-cpu 4095", &["--bind-cpu 4095"]),
            ("--server-pid 4294967290", &["--server-pid", "process 4294967290"]),
        ],
    );
}

#[test]
#[cfg(target_os = "linux")]
fn too_few_descriptors_are_said_before_it_starts() {
    use crate::common::finish;
    use crate::common::linux::with_descriptors;
    let bench = Bench::new();
    let load = format!("net load --to {} --protocol 450 --concurrency 1,2000", too_busy());
    let mut command = bench.command(&format!("{load} --duration 100ms"));
    let said = finish(with_descriptors(&mut command, 100)).with(3);
    let said = said.complains(&["100 descriptors", "beyond 68 connections", "ulimit -Hn 2032"]);
    assert!(said.out.lines().any(|line| line.starts_with("    68 ")), "{}", said.out);
    // No connection is left: none is opened.
    let mut command = bench.command(&format!("{load} --duration 100ms"));
    let said = finish(with_descriptors(&mut command, 20)).with(3);
    assert!(said.out.is_empty(), "{}", said.out);
    said.complains(&["20 descriptors", "needs 32 for other purposes", "ulimit -Hn 2032"]);
}
