//! Mail senders and servers that are killed, stopped or without disk space: no recipient is lost, and those who may have received
//! the message twice are reported.
//!
//! `OSCOST_KILLS=30 cargo test -p oscost --test commands mail_kills:: -- --nocapture` kills more often than a default test, and prints its
//! findings.

use std::net::TcpListener;
use std::process::Child;

use crate::common::hosted::{Hosted, own_loopback};
use crate::common::linux::{
    close_silently, handles, is_pending, kill_any_descendant, signal, with_file_size,
    with_file_system,
};
use crate::common::mail::{
    DELIVERED, PERSONAL, SENDING, Sink, begin, deliver, events, judge, send, write,
};
use crate::common::{
    Bench, Said, at_once, finish, kill, kills, needs, run_on, said_by, skip_unless, until,
};

const RECIPIENTS: usize = 1_500;

/// A bench with a list and a message for so many recipients, and a sink with these options.
fn prepared(recipients: usize, sink: &str) -> (Bench, Sink) {
    let bench = Bench::new();
    write(&bench, recipients, 50, PERSONAL);
    let sink = Sink::start(&bench, sink);
    (bench, sink)
}

/// Lets a delivery send something, and then run for a random time. A resumed delivery may end at once.
fn let_it_begin(bench: &Bench, child: &Child, at_most_ms: usize) {
    let log = bench.path("log.jsonl");
    let size = || std::fs::metadata(&log).map_or(0, |data| data.len());
    let before = size();
    until("something is sent", || size() != before || !is_alive(child));
    run_on(at_most_ms);
}

fn is_alive(child: &Child) -> bool {
    platform::pid::is_alive(child.id())
}

/// Kills the sender several times, then lets it finish, and checks the result.
#[test]
fn a_killed_sender_resumes() {
    let ways = [
        (kills(4), "--connections 20 --loops 2"),
        (kills(4), "--connections 20 --no-chunking"),
        (kills(3), "--connections 20 --arch threads"),
        (kills(3), "--connections 10 --arch processes"),
    ];
    at_once(&ways, |&(times, how)| {
        // The list has enough recipients that the delivery does not end before the last kill.
        let recipients = RECIPIENTS.max(times * 500);
        let (bench, sink) = prepared(recipients, "--latency 5ms");
        let to = sink.relay(how);
        let (mut killed, mut resume) = (0, "");
        for _ in 0..times {
            let mut child = begin(&bench, &format!("{to} {resume}"));
            let_it_begin(&bench, &child, 150);
            killed += usize::from(is_alive(&child));
            kill(&mut child);
            resume = "--resume";
        }
        let (said, _) = deliver(&bench, &format!("{to} --resume"));
        let report = said.with(0).json();
        let received = sink.stop();
        let in_flight = report["in_flight_when_killed"].as_u64().expect("a number") as usize;
        judge(&bench, recipients, &report, &received, in_flight);
        assert_eq!(received.recipients(), recipients, "no recipient is lost");
        let twice = received.repeats();
        println!("{how}: {killed} kills, {in_flight} were under way, {twice} came twice");
    });
}

#[test]
fn killed_processes_of_a_sender_are_made_up_for() {
    let (bench, sink) = prepared(RECIPIENTS, "--latency 5ms");
    let child = begin(&bench, &sink.relay("--connections 10 --arch processes"));
    let_it_begin(&bench, &child, 10);
    let (wanted, mut killed) = (kills(6) * 3, 0);
    while killed < wanted && is_alive(&child) {
        killed += usize::from(kill_any_descendant(child.id(), 2));
        run_on(20);
    }
    let report = said_by(child).with(0).json();
    let received = sink.stop();
    judge(&bench, RECIPIENTS, &report, &received, 0);
    assert_eq!(received.recipients(), RECIPIENTS);
    assert!(report["connections_failed"].as_u64() <= Some(killed as u64), "{report}");
    println!("{killed} processes killed, {} came twice", received.repeats());
}

/// Checks that the output names the command to resume, and the number of remaining recipients.
#[track_caller]
fn names_the_way_on(said: &Said) {
    let last = said.err.lines().last().unwrap_or_default();
    assert!(last.contains("recipients left") && last.contains("--resume"), "{said:?}");
}

#[test]
fn told_to_stop_it_finishes_what_is_under_way() {
    let ways = [
        "--connections 20",
        "--connections 20 --arch threads",
        "--connections 10 --arch processes",
    ];
    at_once(&ways, |how| {
        for stop in [libc::SIGINT, libc::SIGTERM] {
            let (bench, sink) = prepared(RECIPIENTS, "--latency 20ms");
            let to = sink.relay(how);
            let child = begin(&bench, &to);
            let_it_begin(&bench, &child, 100);
            signal(&child, stop);
            let said = said_by(child).with(3);
            names_the_way_on(&said);
            let report = said.json();
            assert!(report["left"].as_u64() > Some(0), "{how}: {report}");
            assert!(events(&bench).values().all(|all| all.last() != Some(&SENDING)), "{how}");
            let report = deliver(&bench, &format!("{to} --resume")).0.with(0).json();
            let received = sink.stop();
            judge(&bench, RECIPIENTS, &report, &received, 0);
            assert_eq!((received.recipients(), received.repeats()), (RECIPIENTS, 0), "{how}");
            assert_eq!(report["in_flight_when_killed"], 0, "{how}");
        }
    });
}

#[test]
fn a_stopped_sender_does_not_wait_for_silent_servers() {
    at_once(&["", "--arch threads", "--arch processes"], |how| {
        let bench = Bench::new();
        write(&bench, 10, 1, PERSONAL);
        let mut sink = Hosted::start(&bench, "mail sink --fault connect:stall:100%");
        let child = begin(&bench, &format!("--relay {} --connections 5 {how}", sink.address));
        until("it handles requests", || handles(child.id(), libc::SIGTERM));
        until("it waits for a greeting", || {
            sink.report()["faults"]["connect:stall"].as_u64() >= Some(1)
        });
        signal(&child, libc::SIGTERM);
        names_the_way_on(&said_by(child).with(3));
        sink.stop();
    });
}

#[test]
fn a_delivery_under_way_is_left_alone() {
    let (bench, sink) = prepared(RECIPIENTS, "--latency 20ms");
    let to = sink.relay("--connections 20");
    let child = begin(&bench, &to);
    let_it_begin(&bench, &child, 1);
    for again in ["", "--resume"] {
        said_by(begin(&bench, &format!("{to} {again}"))).with(2).notes(&["list.csv.journal"]);
    }
    let report = said_by(child).with(0).json();
    judge(&bench, RECIPIENTS, &report, &sink.stop(), 0);
}

#[test]
fn a_restarted_server_receives_the_remaining_mail() {
    let ways =
        ["--connections 20", "--connections 20 --no-chunking", "--connections 20 --arch threads"];
    at_once(&ways, |how| {
        let bench = Bench::new();
        write(&bench, RECIPIENTS, 50, PERSONAL);
        let mut sink = Sink::start_at(&bench, &own_loopback(), "--latency 5ms");
        let child = begin(&bench, &sink.relay(how));
        for _ in 0..2 {
            let_it_begin(&bench, &child, 100);
            let address = sink.kill();
            run_on(300);
            sink = Sink::start_at(&bench, &address.to_string(), "--latency 5ms");
        }
        let report = said_by(child).with(0).json();
        let received = sink.stop();
        judge(&bench, RECIPIENTS, &report, &received, 0);
        assert_eq!(received.recipients(), RECIPIENTS, "{how}");
    });
}

/// Checks a server that is killed while the last packet of a handshake is on its way: occasionally the system then sends no
/// reset, and the client considers itself connected.
#[test]
fn a_server_that_vanished_without_a_reset_is_noticed() {
    skip_unless!(needs::root("to close a connection silently"));
    at_once(&["", "--arch threads", "--arch processes"], |how| {
        let bench = Bench::new();
        write(&bench, 10, 1, PERSONAL);
        let server = TcpListener::bind(own_loopback()).expect("a port is free");
        let address = server.local_addr().expect("it listens");
        let child = begin(&bench, &format!("--relay {address} --connections 1 {how}"));
        let (connection, _) = server.accept().expect("the sender connects");
        close_silently(connection);
        drop(server);
        let sink = Sink::start_at(&bench, &address.to_string(), "");
        let report = said_by(child).with(0).json();
        judge(&bench, 10, &report, &sink.stop(), 0);
        assert_eq!(report["connections_failed"], 1, "{report}");
    });
}

#[test]
fn there_is_no_room_for_the_journal() {
    skip_unless!(needs::mounts());
    // With more space, all recipients may be delivered to before the disk is full, and only the last statuses are lost.
    for size in ["8k", "64k", "200k"] {
        let (bench, sink) = prepared(RECIPIENTS, "");
        let folder = bench.folder("small");
        // The journal there is lost with the process, and a hard link cannot save it, so the log is counted.
        let mut command = send(&bench, &sink.relay("--journal small/journal"));
        let said = finish(with_file_system(&mut command, &folder, &format!("size={size}")));
        assert!(matches!(said.code, Some(2 | 3)), "{size}: {said:?}");
        let last = said.err.lines().last().unwrap_or_default();
        assert!(last.contains("small/journal cannot be written"), "{size}: {said:?}");
        let received = sink.stop();
        let is_tight = size != "200k";
        assert!(!is_tight || received.recipients() < RECIPIENTS, "{size}");
        assert_eq!(received.repeats(), 0, "{size}");
    }
}

#[test]
fn nothing_is_delivered_that_is_not_in_the_journal() {
    let (bench, sink) = prepared(RECIPIENTS, "");
    // The calls fail as on a full disk, but the written data can be read afterwards.
    let mut command = send(&bench, &sink.relay("--connections 20"));
    finish(with_file_size(&mut command, 150 * 1024)).with(3).notes(&["cannot be written"]);
    let (events, received) = (events(&bench), sink.stop());
    for number in 0..RECIPIENTS {
        let times = received.times(number);
        let all = events.get(&number).map_or(&[][..], Vec::as_slice);
        assert!(times == 0 || all.contains(&SENDING), "{number}: {times}, {all:?}");
        assert!(times == 1 || !all.contains(&DELIVERED), "{number}: {times}, {all:?}");
    }
    assert!(received.recipients() > 0, "something was delivered");
}

#[test]
fn told_twice_to_stop_it_ends_at_once() {
    at_once(&["", "--arch threads", "--arch processes"], |how| {
        let bench = Bench::new();
        write(&bench, 10, 1, PERSONAL);
        let mut sink =
            Hosted::start_at(&bench, "mail sink --fault end:stall:100%", &own_loopback());
        let to = format!("--relay {} --connections 5 {how}", sink.address);
        let child = begin(&bench, &to);
        // Each connection waits for a reply that never comes.
        until("each connection has sent a message", || {
            sink.report()["faults"]["end:stall"].as_u64() == Some(5)
        });
        signal(&child, libc::SIGTERM);
        until("the request was taken", || !is_pending(child.id(), libc::SIGTERM));
        // A sender that does not wait for the answer would end within this time.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(is_alive(&child), "it waits for the answer");
        signal(&child, libc::SIGTERM);
        let said = said_by(child).with(3);
        assert!(said.err.lines().last().is_some_and(|last| last.contains("--resume")), "{said:?}");
        let address = sink.address;
        drop(sink);
        let sink = Sink::start_at(&bench, &address.to_string(), "");
        let report = deliver(&bench, &format!("{to} --resume")).0.with(0).json();
        judge(&bench, 10, &report, &sink.stop(), 5);
        assert_eq!(report["in_flight_when_killed"], 5, "{how}");
    });
}
