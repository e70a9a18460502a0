//! `oscost mail sink` as a user starts and ends it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mailsink::hosted::Hosted;
use serde_json::Value;

use crate::common::hosted::Listening;
use crate::common::{Bench, until};

/// Starts a sink, and returns when it listens.
fn start(bench: &Bench, arguments: &str) -> Listening {
    Listening::start(&mut bench.command(&format!("mail sink --listen 127.0.0.1:0 {arguments}")))
}

/// Sends text and returns the codes of the next replies.
fn codes(address: SocketAddr, text: &str, replies: usize) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream.write_all(text.as_bytes()).expect("it reads");
    let lines = BufReader::new(stream).lines().map(|line| line.expect("a reply"));
    let last = lines.filter(|line| line.as_bytes().get(3) == Some(&b' '));
    last.take(replies).map(|line| line[..3].to_owned()).collect::<Vec<_>>().join(" ")
}

const MESSAGE: &str = "EHLO me\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@y>\r\nDATA\r\nMessage-ID: <1@x>\r\n\r\nhello\r\n.\r\nQUIT\r\n";

#[test]
fn discarded_mail_is_counted_logged_and_captured() {
    let bench = Bench::new();
    let sink = start(&bench, "--log log.jsonl --capture mail --json --fault rset:4xx:100%");
    let address = sink.address;
    assert_eq!(codes(address, MESSAGE, 7), "220 250 250 250 354 250 221");
    assert_eq!(codes(address, "RSET\r\nQUIT\r\n", 3), "220 451 221");
    let counts = sink.stop().json();
    assert_eq!(counts["messages"], 1);
    assert_eq!(counts["bytes"], "Message-ID: <1@x>\r\n\r\nhello\r\n".len());
    assert_eq!(counts["faults"]["rset:4xx"], 1);
    let log = bench.text("log.jsonl");
    let line: Value = serde_json::from_str(log.trim_end()).expect("one line of JSON");
    assert_eq!((&line["from"], &line["message_id"]), (&"a@x".into(), &"<1@x>".into()));
    assert_eq!(std::fs::read_dir(bench.path("mail")).expect("a folder").count(), 2);
    assert!(TcpStream::connect(address).is_err(), "it listens still");
}

#[test]
fn the_sink_prints_a_table_and_offers_the_selected_extensions() {
    let bench = Bench::new();
    let sink = start(&bench, "--tls --write-ca ca.pem --without chunking");
    let address = sink.address;
    assert_eq!(codes(address, MESSAGE, 7), "220 250 250 250 354 250 221");
    assert_eq!(codes(address, "EHLO x\r\nBDAT 1\r\nSTARTTLS\r\n", 4), "220 250 502 220");
    sink.stop().says(&["messages accepted", "TLS"]);
    assert!(bench.text("ca.pem").starts_with("-----BEGIN CERTIFICATE-----"));
}

#[test]
fn its_parent_gets_its_counts_and_resource_usage() {
    let bench = Bench::new();
    let mut command = bench.command("mail sink --report --listen 127.0.0.1-2:0");
    let mut sink = Hosted::start(&mut command).expect("it starts");
    assert_eq!(sink.addresses().len(), 2);
    let before = sink.report().expect("it tells");
    for &address in &sink.addresses().to_vec() {
        assert_eq!(codes(address, MESSAGE, 7), "220 250 250 250 354 250 221");
    }
    let after = sink.report().expect("it tells");
    assert_eq!((before.counts.messages, after.counts.messages), (0, 2));
    assert!(after.cpu_ns >= before.cpu_ns && after.cpu_ns > 0);
    sink.stop().expect("it ends well");

    let mut wrong = bench.command("mail sink --report --listen 192.0.2.1:25");
    let refusal = Hosted::start(&mut wrong).expect_err("it is not ours").to_string();
    assert!(refusal.contains("--beyond-this-machine"), "{refusal}");
}

#[test]
fn the_sink_survives_a_shortage_of_descriptors() {
    let bench = Bench::new();
    let program = bench.command("").get_program().to_owned();
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg("ulimit -n 30; exec \"$0\" mail sink --report --listen 127.0.0.1:0");
    let mut sink = Hosted::start(command.arg(program)).expect("it starts");
    let address = sink.addresses()[0];
    let mut clients: Vec<TcpStream> =
        (0..60).map(|_| TcpStream::connect(address).expect("the system takes it")).collect();
    let no_descriptor = |sink: &mut Hosted| sink.report().expect("it goes on").counts.no_descriptor;
    until("descriptors are short", || no_descriptor(&mut sink) > 0);
    // A closed connection frees a descriptor for a waiting one.
    clients.reverse();
    while let Some(client) = clients.pop() {
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        let mut greeting = String::new();
        BufReader::new(client).read_line(&mut greeting).expect("a greeting");
        assert!(greeting.starts_with("220"), "{greeting}");
    }
    assert_eq!(sink.report().expect("it goes on").counts.connections, 60);
    sink.stop().expect("it ends well");
}
