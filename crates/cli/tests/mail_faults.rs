//! `oscost mail send` to a server at which everything goes wrong: everybody's fate is known at the end, and true.
//!
//! `OSCOST_MAIL_RECIPIENTS=50000 cargo test -p oscost --test mail_faults -- --nocapture` takes longer lists, and tells
//! what it found.
#![cfg(target_os = "linux")]

mod common;

use common::Bench;
use common::mail::{PERSONAL, SHARED, Sink, deliver, judge, write};

/// All that drops connections, one in five at each phase; and refusals.
const DROPS: &str = "--fault connect:drop:20% --fault ehlo:drop:20% --fault mail:drop:20% --fault rcpt:drop:20% \
    --fault data:drop:20% --fault body:drop:20% --fault end:drop:10% --fault end:late:10% \
    --fault rcpt:4xx:10% --fault rcpt:5xx:5%";
/// A little of everything.
const ALL: &str = "--fault any:drop:2% --fault any:reset:2% --fault any:4xx:2% --fault any:5xx:1% \
    --fault any:malformed:1% --fault any:endless:1% --fault any:slowly:1% --fault any:stall:0.5% --fault end:late:5%";
/// In KiB.
const MEMORY_AT_MOST: u64 = 150 * 1024;

fn recipients(usual: usize) -> usize {
    let wanted = std::env::var("OSCOST_MAIL_RECIPIENTS").ok();
    wanted.map_or(usual, |count| count.parse().expect("OSCOST_MAIL_RECIPIENTS is a number"))
}

/// Delivers through faults, and judges.
#[track_caller]
fn survives(recipients: usize, message: &str, sink: &str, send: &str) {
    let bench = Bench::new();
    write(&bench, recipients, 50, message);
    let server = Sink::start(&bench, sink);
    let (said, memory) = deliver(&bench, &format!("--relay {} {send}", server.address));
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let report = said.json();
    let received = server.stop();
    judge(&bench, recipients, &report, &received, 0);
    assert!(report["delivered"].as_u64() > Some(recipients as u64 / 2), "{report}");
    assert!(memory < MEMORY_AT_MOST, "{memory} KiB");
    println!(
        "{recipients} to {send}: {} s, {} delivered, {} failed, {} given up, {} maybe twice, {} twice, {memory} KiB",
        report["seconds"],
        report["delivered"],
        report["failed"],
        report["deferred"],
        report["possibly_repeated"],
        received.repeats(),
    );
}

#[test]
fn connections_drop_at_every_phase_personal() {
    survives(recipients(5_000), PERSONAL, DROPS, "--connections 200");
}

#[test]
fn connections_drop_at_every_phase_shared() {
    survives(recipients(5_000), SHARED, DROPS, "--connections 200 --recipients 5");
}

#[test]
fn everything_goes_wrong_personal() {
    survives(recipients(5_000), PERSONAL, ALL, "--connections 200 --timeout 1s");
}

#[test]
fn everything_goes_wrong_shared() {
    survives(recipients(5_000), SHARED, ALL, "--connections 200 --recipients 20 --timeout 1s");
}
