//! Tests of the sink over real sockets, with correct and faulty clients.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use channel::Channel;
use mailsink::identity::Identity;
use mailsink::{Addresses, Counting, Counts, Sink, SinkOptions, Stop};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use testing::PATIENCE;

/// A sink that serves in a thread.
struct Served {
    address: SocketAddr,
    stop: Stop,
    counting: Counting,
    thread: Option<JoinHandle<Counts>>,
}

impl Served {
    fn start(options: &SinkOptions) -> Self {
        let listen = vec!["127.0.0.1:0".parse().unwrap()];
        let sink = Sink::bind(&SinkOptions { listen, ..options.clone() }).unwrap();
        let (address, stop, counting) = (sink.addresses()[0], sink.stop(), sink.counting());
        let thread = Some(std::thread::spawn(move || sink.serve().unwrap()));
        Self { address, stop, counting, thread }
    }

    fn faulty(fault: &str) -> Self {
        Self::faulty_within(fault, SinkOptions::default().timeout)
    }

    /// A sink with this fault and timeout.
    fn faulty_within(fault: &str, timeout: Duration) -> Self {
        let faults = vec![fault.parse().unwrap()];
        Self::start(&SinkOptions { faults, timeout, ..SinkOptions::default() })
    }

    fn connect(&self) -> Client {
        let mut client = Client::new(self.address);
        client.expect("220");
        client
    }

    fn end(mut self) -> Counts {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits until the counters meet the condition.
    fn wait(&self, enough: impl Fn(&Counts) -> bool) -> Counts {
        testing::until_some(|| Some(self.counting.read()).filter(|counts| enough(counts)))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.request();
    }
}

/// A client with blocking calls.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn say(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Receives a whole reply; an empty text at the end of the connection.
    fn hear(&mut self) -> String {
        let mut reply = String::new();
        loop {
            let began = reply.len();
            let bytes = self.stream.read_line(&mut reply).unwrap();
            if bytes == 0 || reply.as_bytes().get(began + 3) != Some(&b'-') {
                return reply;
            }
        }
    }

    #[track_caller]
    fn expect(&mut self, codes: &str) {
        for code in codes.split(' ') {
            let reply = self.hear();
            assert!(reply.starts_with(code), "{code} was expected: {reply:?}");
        }
    }

    #[track_caller]
    fn ask(&mut self, text: &str, codes: &str) {
        self.say(text);
        self.expect(codes);
    }

    #[track_caller]
    fn expect_end(&mut self) {
        assert_eq!(self.hear(), "");
    }
}

const MESSAGE: &str = "MAIL FROM:<a@x>\r\nRCPT TO:<b@y>\r\nDATA\r\n";

#[test]
fn messages_are_accepted_by_data_and_in_chunks() {
    let served = Served::start(&SinkOptions::default());
    let mut client = served.connect();
    client.ask(&format!("EHLO me\r\n{MESSAGE}"), "250 250 250 354");
    client.ask("..a\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b@y>\r\nBDAT 3\r\nab", "250 250 250");
    client.ask("cBDAT 2 LAST\r\n\r\nQUIT\r\n", "250 250 221");
    client.expect_end();
    let counts = served.end();
    assert_eq!((counts.messages, counts.bytes, counts.connections), (2, 4 + 5, 1));
    assert_eq!((counts.cut_off, counts.open), (0, 0));
}

#[test]
fn pipelined_commands_are_answered_if_the_client_reads_late() {
    const TIMES: usize = 100_000;
    let served = Served::start(&SinkOptions::default());
    let mut client = served.connect();
    let mut writer = client.stream.get_ref().try_clone().unwrap();
    let speaker = std::thread::spawn(move || {
        writer.write_all("EHLO me\r\n".repeat(TIMES).as_bytes()).unwrap();
        writer.write_all(b"QUIT\r\n").unwrap();
    });
    served.wait(|counts| counts.commands > 100);
    let mut error = String::new();
    client.stream.read_to_string(&mut error).unwrap();
    speaker.join().unwrap();
    assert_eq!(error.matches("250-sink").count(), TIMES);
    assert!(error.ends_with("221 2.0.0 bye\r\n"));
}

#[test]
fn a_client_that_half_closes_gets_all_replies() {
    let served = Served::start(&SinkOptions::default());
    let mut client = served.connect();
    client.say(&format!("HELO me\r\n{MESSAGE}text\r\n.\r\n"));
    client.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    client.expect("250 250 250 354 250");
    client.expect_end();
    assert_eq!(served.end().cut_off, 1);
}

#[test]
fn garbage_does_not_affect_other_clients() {
    let served = Served::start(&SinkOptions::default());
    let mut other = served.connect();
    let mut client = served.connect();
    let mut garbage: Vec<u8> = (0..200_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    garbage.retain(|&byte| byte != b'\n');
    client.stream.get_mut().write_all(&garbage).unwrap();
    client.ask("\r\n", "500");
    client.ask("NOOP\n", "521");
    client.expect_end();
    other.ask("NOOP\r\n", "250");
    assert_eq!(served.end().bad_commands, 2);
}

fn trusting(identity: &Identity) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(identity.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(configuration), "localhost".try_into().unwrap()).unwrap()
}

/// Sends `text` over TLS and receives a number of replies.
fn ask_over(channel: &mut Channel, text: &[u8], replies: usize) -> String {
    let mut rest = text;
    while !rest.is_empty() {
        let taken = channel.send(rest).unwrap();
        rest = &rest[taken..];
    }
    channel.flush().unwrap();
    let (mut error, mut room) = (String::new(), [0; 1_000]);
    while error.lines().filter(|line| line.as_bytes().get(3) == Some(&b' ')).count() < replies {
        let bytes = channel.receive(&mut room).unwrap();
        assert!(bytes > 0, "{error}");
        error.push_str(std::str::from_utf8(&room[..bytes]).unwrap());
    }
    error
}

#[test]
fn tls_carries_mail_and_auth_and_discards_earlier_plaintext() {
    let place = tempfile::tempdir().unwrap();
    let identity = Identity::made_for(vec!["localhost".into()]).unwrap();
    let log = place.path().join("log");
    let options = SinkOptions {
        tls: Some(identity.configuration().unwrap()),
        login: Some(("me".into(), "secret".into())),
        log: Some(log.clone()),
        ..SinkOptions::default()
    };
    let served = Served::start(&options);
    let mut client = served.connect();
    client.ask("EHLO me\r\nAUTH PLAIN AG1lAHNlY3JldA==\r\n", "250 538");
    // The command after STARTTLS in the same segment must not be processed as if it had been sent over TLS.
    client.ask("STARTTLS\r\nEHLO injected\r\n", "220");
    let mut channel = Channel::new(client.stream.into_inner());
    channel.start_tls(trusting(&identity));
    let error = ask_over(&mut channel, b"MAIL FROM:<a@x>\r\n", 1);
    assert!(error.starts_with("503"), "{error}");
    let error = ask_over(&mut channel, b"EHLO me\r\nAUTH PLAIN AG1lAHNlY3JldA==\r\n", 2);
    assert!(
        error.contains("250 AUTH PLAIN LOGIN\r\n235") && !error.contains("STARTTLS"),
        "{error}"
    );
    let body = "0123456789\r\n".repeat(50_000);
    let sent = format!("{MESSAGE}Message-ID: <1@x>\r\n\r\n{body}.\r\nQUIT\r\n");
    let error = ask_over(&mut channel, sent.as_bytes(), 5);
    assert!(error.contains("221"), "{error}");
    assert_eq!(channel.receive(&mut [0; 9]).unwrap(), 0);

    // The client sends plaintext in place of a handshake.
    let mut client = served.connect();
    client.ask("STARTTLS\r\n", "220");
    client.say("EHLO in the clear\r\n");
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"250"));
    let counts = served.end();
    assert_eq!((counts.tls, counts.tls_failed, counts.messages), (2, 1, 1));
    let log = std::fs::read_to_string(log).unwrap();
    let line: serde_json::Value = serde_json::from_str(log.trim_end()).unwrap();
    assert_eq!((&line["tls"], &line["message_id"]), (&true.into(), &"<1@x>".into()));
    assert_eq!(line["bytes"], "Message-ID: <1@x>\r\n\r\n".len() + body.len());
}

#[test]
fn data_in_the_tls_buffer_is_processed_after_late_replies() {
    let identity = Identity::made_for(vec!["localhost".into()]).unwrap();
    let options = SinkOptions {
        tls: Some(identity.configuration().unwrap()),
        latencies: vec!["ehlo=5ms".parse().unwrap()],
        read_rate: Some(20_000),
        ..SinkOptions::default()
    };
    let served = Served::start(&options);
    let mut client = served.connect();
    client.ask("STARTTLS\r\n", "220");
    let mut channel = Channel::new(client.stream.into_inner());
    channel.start_tls(trusting(&identity));
    // The client sends one record, of which the sink reads a part at a time.
    let sent = "EHLO x\r\n".to_owned() + &"NOOP\r\n".repeat(1_000);
    let error = ask_over(&mut channel, sent.as_bytes(), 1_001);
    assert!(error.ends_with("250 2.0.0 ok\r\n"));
}

#[test]
fn accepted_messages_are_written_before_the_reply() {
    let place = tempfile::tempdir().unwrap();
    let (log, folder) = (place.path().join("log"), place.path().join("folder"));
    let options = SinkOptions {
        log: Some(log.clone()),
        capture: Some(folder.clone()),
        ..SinkOptions::default()
    };
    let served = Served::start(&options);
    let mut client = served.connect();
    client.ask(&format!("EHLO me\r\n{MESSAGE}"), "250 250 250 354");
    client.ask("X: 1\r\n\r\n..a\r\n.\r\n", "250");
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().count(), 1);
    let mut files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let message = files.find(|path| path.extension().is_some_and(|end| end == "eml")).unwrap();
    assert_eq!(std::fs::read_to_string(&message).unwrap(), "X: 1\r\n\r\n.a\r\n");
    let envelope = std::fs::read_to_string(message.with_extension("json")).unwrap();
    assert_eq!(envelope + "\n", lines);
    // An aborted message leaves no file and no log entry.
    client.ask(MESSAGE, "250 250 354");
    client.say("half of");
    drop(client);
    assert_eq!(served.end().messages, 1);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_written_is_refused() {
    let full = std::path::Path::new("/dev/full");
    let served = Served::start(&SinkOptions { log: Some(full.into()), ..SinkOptions::default() });
    let mut client = served.connect();
    client.ask(&format!("EHLO me\r\n{MESSAGE}.\r\n"), "250 250 250 354 452");
    client.ask(&format!("{MESSAGE}.\r\nQUIT\r\n"), "250 250 354 452 221");
    let counts = served.end();
    assert_eq!((counts.messages, counts.unwritten), (0, 2));
}

#[test]
fn a_thousand_concurrent_clients_are_served() {
    platform::process::limits::raise_descriptors();
    let served = Served::start(&SinkOptions::default());
    let mut clients: Vec<Client> = (0..1_000).map(|_| Client::new(served.address)).collect();
    let steps =
        [("220", "EHLO x\r\n"), ("250", MESSAGE), ("250 250 354", "hello\r\n.\r\n"), ("250", "")];
    for (codes, next) in steps {
        for client in &mut clients {
            client.expect(codes);
            client.say(next);
        }
    }
    assert_eq!(served.counting.read().open, 1_000);
    for client in &mut clients {
        client.ask("QUIT\r\n", "221");
        client.expect_end();
    }
    let counts = served.end();
    assert_eq!((counts.messages, counts.connections, counts.cut_off), (1_000, 1_000, 0));
}

/// The result of a whole session: the code of the last reply, or the reason why there is none.
fn outcome(address: SocketAddr, is_stalled: impl Fn() -> bool) -> String {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut stream = BufReader::new(stream);
    let mut last = String::new();
    let asked = ["", "HELO x\r\n", "MAIL FROM:<>\r\n", "RCPT TO:<a@b>\r\n", "DATA\r\n"];
    for ask in asked.into_iter().chain(["x\r\n.\r\n", "QUIT\r\n"]) {
        if stream.get_mut().write_all(ask.as_bytes()).is_err() {
            return "gone".into();
        }
        let mut line = String::new();
        // A busy machine takes its time; what stalls says nothing afterwards either.
        let mut was_stalled = false;
        let began = Instant::now();
        let read = loop {
            match stream.read_line(&mut line) {
                Err(e) if is_timeout(&e) && !was_stalled && began.elapsed() < PATIENCE => {
                    was_stalled = is_stalled();
                }
                read => break read,
            }
        };
        match read {
            Ok(0) => return "end".into(),
            Ok(_) if line.starts_with(['2', '3']) => last = line[..3].into(),
            Ok(_) => return line[..3].into(),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return "reset".into(),
            Err(_) => return "silence".into(),
        }
    }
    last
}

/// Whether a read found nothing in its time.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[test]
fn each_fault_has_its_effect() {
    for (fault, what) in [
        ("connect:5xx", "554"),
        ("connect:drop", "end"),
        ("ehlo:4xx", "451"),
        ("mail:reset", "reset"),
        ("rcpt:5xx", "550"),
        ("data:malformed", "?? "),
        ("body:5xx", "554"),
        ("end:drop", "end"),
        ("end:late", "end"),
        ("quit:slowly", "221"),
        ("quit:stall", "silence"),
    ] {
        let served = Served::faulty(&format!("{fault}:1"));
        let is_stalled =
            || fault.contains("stall") && served.counting.read().faults.get(fault) == Some(&1);
        assert_eq!(outcome(served.address, is_stalled), what, "{fault}");
        let counts = served.end();
        assert_eq!(counts.faults.get(fault), Some(&1), "{fault}");
        let accepted = fault.contains("late") || fault.contains("quit");
        assert_eq!(counts.messages, u64::from(accepted), "{fault}");
    }
}

#[test]
fn an_endless_reply_does_not_affect_other_clients() {
    let served = Served::faulty("ehlo:endless:1");
    let mut client = served.connect();
    client.say("EHLO x\r\n");
    for _ in 0..1_000 {
        let mut line = String::new();
        client.stream.read_line(&mut line).unwrap();
        assert_eq!(line, "250-and so on\r\n");
    }
    served.connect();
    served.end(); // although the client would continue to read
}

#[test]
fn faults_have_the_requested_rate_and_are_reproducible() {
    let strike = || {
        let served = Served::faulty("rcpt:4xx:30%");
        let struck = |_| outcome(served.address, || false) == "450";
        let struck: Vec<bool> = (0..300).map(struck).collect();
        let times = struck.iter().filter(|&&struck| struck).count();
        assert_eq!(served.end().faults["rcpt:4xx"], times as u64);
        // The number's standard deviation is 8.
        assert!((50..130).contains(&times), "{times}");
        struck
    };
    assert_eq!(strike(), strike());
}

#[test]
fn greylisted_recipients_are_accepted_later_and_replies_can_be_late() {
    const GREYLISTED: Duration = Duration::from_millis(300);
    let greylist = Some(GREYLISTED);
    let latencies = vec!["rcpt=50ms".parse().unwrap()];
    let served = Served::start(&SinkOptions { greylist, latencies, ..SinkOptions::default() });
    let mut client = served.connect();
    client.ask("EHLO x\r\nMAIL FROM:<>\r\n", "250 250");
    let began = Instant::now();
    // The client sends all commands at once: the later ones wait for the earlier replies.
    client.ask("RCPT TO:<a@b>\r\nRCPT TO:<c@b>\r\nNOOP\r\n", "450 450 250");
    // Times have lower bounds only, which hold on a busy machine as well.
    assert!(began.elapsed() >= Duration::from_millis(100));
    testing::until(|| {
        client.say("RCPT TO:<a@b>\r\n");
        client.hear().starts_with("250")
    });
    assert!(began.elapsed() >= GREYLISTED);
    drop(client);
    assert!(served.end().refusals["rcpt"] >= 2);
}

#[test]
fn a_tarpit_and_a_limited_read_rate_slow_down() {
    let tarpit = Some(Duration::from_millis(2));
    let options =
        SinkOptions { tarpit, read_rate: Some(100), window: Some(2_048), ..SinkOptions::default() };
    let served = Served::start(&options);
    // Both times have lower bounds only, which hold on a busy machine as well.
    let began = Instant::now();
    let mut client = served.connect();
    client.ask("HELO x\r\n", "250");
    let replies = "220 sink ESMTP, mail is thrown away\r\n250 sink\r\n".len() as u32;
    assert!(began.elapsed() >= Duration::from_millis(2) * (replies - 2));
    let began = Instant::now();
    client.ask(&format!("{}\r\n", "X".repeat(60)), "500");
    assert!(began.elapsed() >= Duration::from_millis(400), "62 bytes, 100 a second");
    assert_eq!(served.end().timed_out, 0);
}

#[test]
fn silent_clients_time_out() {
    let served = Served::start(&SinkOptions {
        timeout: Duration::from_millis(100),
        ..SinkOptions::default()
    });
    served.connect().expect_end();
    assert_eq!(served.end().timed_out, 1);
}

/// Sends the text a byte at a time, until the sink closes the connection.
fn drip(mut client: Client, text: &str) {
    let mut bytes = text.bytes().cycle();
    testing::until(|| {
        std::thread::sleep(Duration::from_millis(50));
        let byte = bytes.next().unwrap();
        client.stream.get_mut().write_all(&[byte]).is_err()
    });
}

#[test]
fn dripping_clients_time_out_in_commands_and_messages() {
    let timeout = Duration::from_millis(500);
    let served = Served::start(&SinkOptions { timeout, ..SinkOptions::default() });
    drip(served.connect(), "x");
    for last in ["DATA\r\n", "BDAT 1000000\r\n"] {
        let mut client = served.connect();
        client.ask("EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\n", "250 250 250");
        client.say(last);
        drip(client, "text\r\n");
    }
    assert_eq!(served.end().timed_out, 3);
    let stalling = Served::faulty_within("ehlo:stall:1", timeout);
    let mut client = stalling.connect();
    client.say("EHLO x\r\n");
    drip(client, "x");
    assert_eq!(stalling.end().timed_out, 1);
}

#[test]
fn the_sink_hangs_up_on_http() {
    let served = Served::start(&SinkOptions::default());
    for request in ["GET / HTTP/1.1\r\n", "POST /x HTTP/1.1\r\nHost: x\r\n\r\n"] {
        let mut client = served.connect();
        client.ask(&format!("{request}MAIL FROM:<a@x>\r\n"), "521");
        client.expect_end();
    }
    let counts = served.end();
    assert_eq!((counts.bad_commands, counts.transactions), (2, 0));
}

#[test]
fn a_message_in_progress_does_not_keep_a_sink_that_is_stopped() {
    assert!(SinkOptions::default().drain <= Duration::from_millis(500), "it ends within a second");
    let timeout = testing::PATIENCE * 10;
    let served = Served::start(&SinkOptions { timeout, ..SinkOptions::default() });
    let mut silent = served.connect();
    let mut busy = served.connect();
    busy.ask(&format!("EHLO x\r\n{MESSAGE}"), "250 250 250 354");
    silent.say("EHL");
    served.stop.request();
    busy.expect_end();
    // It gets 421 if the sink stops before the part of a command has arrived.
    assert!(["", "421"].contains(&silent.hear().get(..3).unwrap_or_default()));
    assert_eq!(served.end().open, 0);
}

#[test]
fn after_a_stop_messages_in_progress_end_and_none_begin() {
    let served = Served::start(&SinkOptions { drain: PATIENCE, ..SinkOptions::default() });
    let mut idle = served.connect();
    let mut busy = served.connect();
    busy.ask(&format!("EHLO x\r\n{MESSAGE}"), "250 250 250 354");
    served.stop.request();
    idle.expect("421");
    idle.expect_end();
    busy.ask("late\r\n.\r\n", "250 421");
    busy.expect_end();
    drop((idle, busy));
    let (address, counts) = (served.address, served.end());
    assert_eq!((counts.messages, counts.open), (1, 0));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn one_loop_serves_many_addresses_and_bind_errors_are_described() {
    let options = |listen: &str| {
        let all: Addresses = listen.parse().unwrap();
        SinkOptions { listen: all.0, ..SinkOptions::default() }
    };
    if cfg!(target_os = "linux") {
        let sink = Sink::bind(&options("127.0.0.1-50:0")).unwrap();
        let (addresses, stop) = (sink.addresses().to_vec(), sink.stop());
        assert_eq!(addresses.len(), 50);
        let thread = std::thread::spawn(move || sink.serve().unwrap());
        for &address in &addresses {
            Client::new(address).ask("QUIT\r\n", "220 221");
        }
        stop.request();
        assert_eq!(thread.join().unwrap().connections, 50);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error_of = |options: &SinkOptions| Sink::bind(options).err().unwrap().to_string();
    let error = error_of(&options(&address));
    assert!(error.contains(&address) && error.contains("another port"), "{error}");
    assert!(error_of(&SinkOptions::default()).contains("no address"));
    let nowhere = SinkOptions { log: Some("/nowhere/log".into()), ..options("127.0.0.1:0") };
    assert!(error_of(&nowhere).contains("/nowhere/log"));
}
