//! `oscost mail send` to `oscost mail sink` by every transport that this system has.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::common::hosted::Hosted;
use crate::common::{Bench, Said, free_port};
use serde_json::Value;

const RECIPIENTS: usize = 300;

const SEND: &str = "mail send --list list.csv --message message.eml --from me@example.org";

/// A bench with a list and a message, with the line ends of Windows.
fn bench() -> Bench {
    let bench = Bench::new();
    let mut list = "email,name\r\n".to_owned();
    for number in 0..RECIPIENTS {
        let _ = write!(list, "u{number}@d{}.test,Name {number}\r\n", number % 7);
    }
    bench.write("list.csv", &list);
    let message = "From: me@example.org\r\nTo: {email}\r\nSubject: Hello {name}\r\n\r\n.dot\r\n";
    bench.write("message.eml", message);
    bench
}

/// Recipients of the accepted messages, by the log of a sink: one entry for each.
fn received(bench: &Bench, log: &str) -> Vec<String> {
    let text = bench.text(log);
    let entry = |line: &str| serde_json::from_str::<Value>(line).expect("a line of JSON");
    text.lines().map(|line| entry(line)["to"][0].as_str().expect("an address").to_owned()).collect()
}

#[test]
fn every_recipient_gets_the_message_once_by_each_architecture() {
    let bench = bench();
    let architectures: &[&str] = if cfg!(unix) {
        &["loop", "poll", "threads", "processes"]
    } else {
        &["loop", "poll", "threads"]
    };
    for arch in architectures {
        let log = format!("log.{arch}");
        let sink = Hosted::start(&bench, &format!("mail sink --log {log}"));
        let send = |more: &str| -> Said {
            let relay = format!("--relay {} --journal journal.{arch}", sink.address);
            bench.oscost(&format!("{SEND} {relay} {more}"))
        };
        let report = send(&format!("--arch {arch} --connections 20 --json")).with(0).json();
        assert_eq!(report["delivered"], RECIPIENTS, "{arch}: {report}");
        assert!(report["connections_at_most"].as_u64() > Some(1), "{arch}: {report}");
        let all = received(&bench, &log);
        assert_eq!(all.len(), RECIPIENTS, "{arch}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), RECIPIENTS, "{arch}");
        send("").with(2).complains(&["already exists"]);
        send("--resume").with(0);
        assert_eq!(received(&bench, &log).len(), RECIPIENTS, "{arch}: resumed, it sends nothing");
        let report = sink.stop();
        assert_eq!(report["messages"], RECIPIENTS, "{arch}: {report}");
    }
}

#[test]
#[cfg(not(unix))]
fn processes_for_connections_need_fork() {
    let said = bench().oscost(&format!("{SEND} --relay 127.0.0.1:9 --arch processes --no-journal"));
    said.with(3).notes(&["there is no fork"]);
}

#[test]
fn recipients_of_a_server_that_cannot_be_reached_are_deferred() {
    let relay = format!("--relay {} --no-journal", free_port());
    let send = format!("{SEND} {relay} --retry-after 10ms --give-up 50ms");
    let said = bench().oscost(&send).with(1);
    let line = said.out.lines().find(|line| line.trim_start().starts_with("deferred"));
    let count = line.and_then(|line| line.split_whitespace().nth(1));
    assert_eq!(count, Some("300"), "{}", said.out);
}
