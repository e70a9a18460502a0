//! The memory of a delivery is independent of the length of the list.
//!
//! `cargo test -p oscost --test commands mail_memory:: -- --ignored --nocapture` takes the longest lists, which takes minutes, and prints
//! its findings.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use crate::common::Bench;
use crate::common::linux::signal;
use crate::common::mail::{SHARED, Sink, begin, deliver, said_of, watch_memory, write};

const MIB: u64 = 1024;

/// Checks the memory of a delivery in test mode to one server under many addresses, with 1,500 connections.
fn takes_no_more_than(most: u64, recipients: usize, domains: usize, how: &str) {
    let bench = Bench::new();
    write(&bench, recipients, domains, SHARED);
    // A port that was just free, at all those addresses.
    let free = TcpListener::bind("127.0.1.1:0").and_then(|free| free.local_addr()).expect("a port");
    let server = Sink::start_at(&bench, &format!("127.0.1.1-200:{}", free.port()), "");
    let mut routes = String::new();
    for domain in 0..domains {
        let last = 1 + domain % 200;
        let _ = writeln!(routes, "d{domain}.test 127.0.1.{last}:{}", free.port());
    }
    bench.write("routes", &routes);
    let (said, memory) = deliver(&bench, &format!("--route routes --dry --connections 1500 {how}"));
    let report = said.with(0).json();
    assert_eq!(report["delivered"], recipients, "{report}");
    assert_eq!(report["left"], 0, "{report}");
    assert_eq!(server.stop().messages, 0);
    assert!(report["connections_at_most"].as_u64() <= Some(1_500), "{report}");
    println!(
        "{recipients} in {domains} domains {how}: {} s, {} connections at a time, {memory} KiB",
        report["seconds"], report["connections_at_most"]
    );
    assert!(memory < most, "{memory} KiB");
}

#[test]
fn a_list_of_many_domains() {
    takes_no_more_than(150 * MIB, 50_000, 9_113, "");
}

#[test]
#[ignore = "takes a minute"]
fn a_long_list_of_many_domains() {
    takes_no_more_than(150 * MIB, 200_000, 9_113, "");
    takes_no_more_than(150 * MIB, 200_000, 9_113, "--arch poll");
}

/// Checks a delivery to millions of recipients that is started and stopped after some seconds.
#[test]
#[ignore = "takes minutes"]
fn a_list_of_millions_is_read_as_it_is_needed() {
    const RECIPIENTS: usize = 5_000_000;
    let bench = Bench::new();
    let mut list = BufWriter::new(std::fs::File::create(bench.path("list.csv")).expect("a list"));
    writeln!(list, "email,name").expect("room");
    for number in 0..RECIPIENTS {
        writeln!(list, "r{number}@d{}.test,Name {number}", number % 9_113).expect("room");
    }
    list.into_inner().expect("room");
    bench.write("message.eml", SHARED);
    let server = Sink::start(&bench, "");
    let to = format!("--relay {} --dry --connections 500", server.address);
    let child = begin(&bench, &to);
    let memory = watch_memory(&child);
    std::thread::sleep(Duration::from_secs(180));
    signal(&child, libc::SIGTERM);
    let report = said_of(child).json();
    let memory = memory.join().expect("a watcher");
    server.stop();
    println!(
        "{RECIPIENTS}: {} s, {} delivered, {memory} KiB",
        report["seconds"], report["delivered"]
    );
    assert!(report["delivered"].as_u64() > Some(0), "{report}");
    assert!(memory < 400 * MIB, "{memory} KiB");
}
