//! `oscost mail send` against hostile servers, lists and messages: no password in clear, no injected commands, and no
//! delivery in test mode.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::linux::set_mode;
use crate::common::servers::{Captured, MESSAGE, Order, Sink, send};
use crate::common::smtp_server::Server;
use crate::common::{Bench, Said, entries, finish, said_by, started, until};

const LIST: &str = "email\nyou@x.test\n";
const PASSWORD: &str = "Tr0ub4dor&3";
/// The password in base64 as in `AUTH LOGIN`, and the end of the `AUTH PLAIN` response (by coreutils' base64).
const ENCODED: [&str; 2] = ["VHIwdWI0ZG9yJjM", "bWUAVHIwdWI0ZG9yJjM"];
const SOON: &str = "--retry-after 100ms --give-up 100ms";

/// A bench with the password in a file.
fn bench() -> Bench {
    let bench = Bench::new();
    set_mode(&bench.write("auth", &format!("me:{PASSWORD}\n")), 0o600);
    bench
}

/// Whether the bytes contain the password in any of its forms. In a PLAIN response, the user name before it shifts the encoding.
fn tells(bytes: &[u8]) -> bool {
    let has = |what: &str| bytes.windows(what.len()).any(|some| some == what.as_bytes());
    has(PASSWORD) || ENCODED.iter().any(|form| has(form)) || has("AG1lAFRy")
}

/// Checks that no output or file of the program contains the password.
#[track_caller]
fn is_kept_secret(bench: &Bench, said: &Said) {
    assert!(!tells(said.out.as_bytes()) && !tells(said.err.as_bytes()), "{said:?}");
    for name in entries(&bench.path(".")).into_iter().filter(|name| name.contains(".journal")) {
        let bytes = std::fs::read(bench.path(&name)).expect("a file");
        assert!(!tells(&bytes), "it is in {name}");
    }
}

#[test]
fn password_is_not_said_in_clear() {
    let bench = bench();
    const NO_TLS: &str = "250-fake\r\n250-PIPELINING\r\n250 AUTH PLAIN LOGIN";
    const REMOVED: &str = "250-fake\r\n250-XXXXXXXX\r\n250 AUTH PLAIN LOGIN";
    const TLS: &str = "250-fake\r\n250-STARTTLS\r\n250 AUTH PLAIN";
    for fake in [
        // The server offers AUTH without TLS, or an attacker has removed STARTTLS.
        Server::replying(&[("EHLO", NO_TLS), ("AUTH", "235 ok")]),
        Server::replying(&[("EHLO", REMOVED), ("AUTH", "235 ok")]),
        // The server offers TLS and then rejects it.
        Server::replying(&[("EHLO", TLS), ("STARTTLS", "454 no")]),
        // The server accepts STARTTLS without a handshake: the handshake fails, and the sender retries in clear.
        Server::replying(&[("EHLO", TLS), ("STARTTLS", "220 go on"), ("\u{16}", "")]),
        // The server knows no extensions.
        Server::replying(&[("EHLO", "500 what?"), ("AUTH", "235 ok")]),
    ] {
        let relay = format!("--relay {} --auth-file auth {SOON} --timeout 2s --json", fake.address);
        for tls in ["--tls offered", "--tls required", ""] {
            let arguments = format!("{relay} {tls}");
            let said = send(&bench, LIST, MESSAGE, &arguments);
            assert!(matches!(said.code, Some(1 | 3)), "{said:?}");
            is_kept_secret(&bench, &said);
            let received = fake.received();
            assert!(received.contains("EHLO"), "it was not talked to: {received}");
            assert!(!received.contains("AUTH") && !tells(received.as_bytes()), "{received}");
            assert!(!received.contains("MAIL"), "mail goes on without the password: {received}");
        }
    }
}

#[test]
fn password_is_said_over_tls_and_written_nowhere() {
    let bench = bench();
    let sink = Sink::start(&bench, &format!("--tls --user me:{PASSWORD} --write-ca ca.pem"));
    let options = "--tls required --ca ca.pem --json --auth-file auth";
    let said = sink.send(&bench, LIST, MESSAGE, options).with(0);
    is_kept_secret(&bench, &said);
    assert_eq!(sink.message().envelope["tls"], true);
    // The password comes from the environment, while another process can read it.
    let order = Order::new(&bench, LIST, MESSAGE);
    let slow = Sink::start(&bench, "--tls --latency connect=2s --write-ca slow.pem");
    let relay = format!("--relay {} --tls required --ca slow.pem", slow.address);
    let mut command = bench.command(&order.command(&relay));
    command.env("OSCOST_MAIL_AUTH", format!("me:{PASSWORD}"));
    let child = started(&mut command);
    let line = format!("/proc/{}/cmdline", child.id());
    let mut looked = 0;
    until("its command line can be read", || {
        let words = std::fs::read(&line).unwrap_or_default();
        assert!(!tells(&words), "it is in {line}");
        looked += usize::from(words.windows(4).any(|some| some == b"mail"));
        looked > 0
    });
    let said = said_by(child).with(0);
    is_kept_secret(&bench, &said);
    assert_eq!(slow.messages().len(), 1);
}

/// Checks that the password is by default sent only to a relay with a valid certificate.
#[test]
fn password_is_sent_only_to_an_authenticated_relay() {
    let bench = bench();
    let sink = Sink::start(&bench, &format!("--tls --user me:{PASSWORD}"));
    sink.send(&bench, LIST, MESSAGE, &format!("--auth-file auth {SOON}"))
        .with(1)
        .notes(&["certificate"]);
    assert_eq!(sink.messages().len(), 0);
    sink.send(&bench, LIST, MESSAGE, "--auth-file auth --tls offered").with(0);
    assert_eq!(sink.messages().len(), 1);
    bench.write("routes", &format!("* {}\n", sink.address));
    let routed = "--route routes --auth-file auth";
    send(&bench, LIST, MESSAGE, routed).with(2).complains(&["--relay"]);
}

#[test]
fn password_that_is_refused_is_written_nowhere() {
    let bench = bench();
    let sink = Sink::start(&bench, "--tls --user me:another --write-ca ca.pem");
    let said = sink
        .send(&bench, LIST, MESSAGE, "--tls required --ca ca.pem --auth-file auth")
        .with(3)
        .notes(&["name or password wrong"]);
    is_kept_secret(&bench, &said);
    let wrong = "--relay 127.0.0.1:1 --password x";
    send(&bench, LIST, MESSAGE, wrong).with(2).complains(&["--password"]);
}

#[test]
fn words_before_tls_do_not_pass_for_words_under_it() {
    let bench = bench();
    // A man in the middle can inject replies in clear before the commands.
    let fake = Server::replying(&[
        ("EHLO", "250-fake\r\n250-PIPELINING\r\n250 STARTTLS"),
        ("STARTTLS", "220 go on\r\n250-fake\r\n250 AUTH PLAIN\r\n235 welcome"),
    ]);
    for how in ["loop", "threads", "processes"] {
        let arguments =
            format!("--relay {} --tls required {SOON} --json --arch {how}", fake.address);
        let said = send(&bench, LIST, MESSAGE, &arguments).with(1);
        let replies = said.json()["replies"].to_string();
        assert!(replies.contains("the server said more before TLS began"), "{replies}");
        let received = fake.received();
        assert!(received.ends_with("STARTTLS\r\n"), "{received}");
    }
}

/// Names of the fields in the header of a message, in order.
fn fields(message: &Captured) -> Vec<String> {
    let header = message.text().split_once("\r\n\r\n").expect("a header").0;
    let fields = header.split("\r\n").filter(|line| !line.starts_with([' ', '\t']));
    fields.map(|line| line.split_once(':').expect("a field").0.to_ascii_lowercase()).collect()
}

#[test]
fn values_of_a_list_add_no_fields_to_a_header() {
    const MESSAGE: &str = "From: {name} <me@sender.test>\n\
                           To: {name} <{email}>\n\
                           Subject: Hello {name}\n\
                           X-Name: {name}\n\
                           List-Help: <https://x.test/{name}>\n\
                           \n\
                           Hello {name}!\n";
    const EVIL: [&str; 9] = [
        "x\r\nBcc: evil@x.test",
        "x\nBcc: evil@x.test",
        "x\rBcc: evil@x.test",
        "x\r\n\r\nanother body",
        "x\u{85}Bcc: evil@x.test",
        "x\u{2028}Bcc: evil@x.test",
        "\r\n.\r\nMAIL FROM:<evil@x.test>\r\n",
        "x>, evil@x.test, <",
        "x\u{0}\u{b}\u{c}Bcc: evil@x.test",
    ];
    let bench = bench();
    let sink = Sink::start(&bench, "");
    let mut list = "email,name\n".to_owned();
    for (number, evil) in EVIL.iter().enumerate() {
        list += &format!("n{number}@x.test,\"{evil}\"\n");
    }
    let unsubscribe = "--list-unsubscribe <https://x.test/{name}>";
    sink.send(&bench, &list, MESSAGE, &format!("{unsubscribe} --connections 3")).with(0);
    let messages = sink.messages();
    assert_eq!(messages.len(), EVIL.len());
    let expected = BTreeSet::from(
        ["from", "to", "subject", "x-name", "list-help", "list-unsubscribe", "message-id", "date"]
            .map(str::to_owned),
    );
    for message in &messages {
        let found = fields(message);
        assert_eq!(found.len(), expected.len(), "{}", message.text());
        assert_eq!(BTreeSet::from_iter(found), expected, "{}", message.text());
        let to = message.envelope["to"].as_array().expect("recipients");
        assert!(to.len() == 1 && !to[0].to_string().contains("evil"), "{:?}", message.envelope);
        assert_eq!(message.envelope["from"], "me@sender.test");
        let parsed = mail_parser::MessageParser::default().parse(&message.message);
        let parsed = parsed.expect("a message");
        for (name, addresses) in [("From", parsed.from()), ("To", parsed.to())] {
            let all: Vec<_> = addresses.into_iter().flat_map(|all| all.iter()).collect();
            assert_eq!(all.len(), 1, "{name}: {}", message.text());
            assert_ne!(all[0].address(), Some("evil@x.test"), "{name}: {}", message.text());
        }
        assert!(parsed.bcc().is_none(), "{}", message.text());
        let header = message.text().split_once("\r\n\r\n").expect("a header").0;
        assert!(!header.replace("\r\n", "").contains(|c: char| c.is_control()), "{header:?}");
    }
}

#[test]
fn addresses_of_a_list_add_no_commands() {
    let bench = bench();
    let sink = Sink::start(&bench, "");
    let list = "email\n\
                \"a@x.test>\r\nRCPT TO:<evil@x.test\"\n\
                \"a@x.test>\nRCPT TO:<evil@x.test\"\n\
                \"a@x.test\r\nDATA\r\n\"\n\
                a@x.test> SIZE=1\n\
                \"a@x.test>\rQUIT\"\n\
                \"\"\"a\r\nRCPT TO:<evil@x.test>\"\"@x.test\"\n\
                <a@x.test>\n\
                a@x.test evil@x.test\n\
                a@[127.0.0.1]>\n\
                good@x.test\n";
    let message = "From: me@sender.test\n\nHello\n";
    let said = sink.send(&bench, list, message, "--json --recipients 20").with(1);
    let message = sink.message();
    let to = message.envelope["to"].as_array().expect("recipients").clone();
    assert!(to.iter().all(|to| !to.to_string().contains("evil")), "{to:?}");
    assert!(to.contains(&"good@x.test".into()), "{to:?}");
    assert_eq!(to.len() + said.json()["bad_addresses"].as_u64().expect("a number") as usize, 10);
    let order = Order::new(&bench, LIST, MESSAGE);
    let from = order.command(&format!("--relay {}", sink.address));
    for (command, option, value) in [
        (from.replace("--from me@sender.test", ""), "--from", "a@x.test>\r\nRCPT TO:<evil@x.test"),
        (from, "--hello", "x\r\nMAIL FROM:<evil@x.test>"),
    ] {
        finish(bench.command(&command).args([option, value])).with(2).complains(&[option]);
    }
    assert_eq!(sink.messages().len(), 1);
}

#[test]
fn nothing_in_a_message_ends_it_early() {
    const BEGIN: &str = "From: me@sender.test\nSubject: x\n\n";
    const SECOND: &str =
        "MAIL FROM:<evil@x.test>\r\nRCPT TO:<you@x.test>\r\nDATA\r\nsmuggled\r\n.\r\n";
    let bench = bench();
    for (extensions, line) in [("", "by BDAT"), ("--without chunking", "by DATA")] {
        let sink = Sink::start(&bench, extensions);
        let ends = [
            "\n.\n",
            "\r.\r",
            "\r\n.\n",
            "\n.\r\n",
            "\r.\r\n",
            "\r\n.\r",
            "\r\n.\r\n",
            "\n\r.\r\n",
            "\0\r\n.\r\n",
        ];
        for (number, end) in ends.iter().enumerate() {
            let message = format!("{BEGIN}{number}{end}{SECOND}last line");
            sink.send(&bench, LIST, message, "").with(0);
        }
        let messages = sink.messages();
        assert_eq!(messages.len(), ends.len(), "{line}");
        for message in &messages {
            assert_eq!(message.envelope["from"], "me@sender.test", "{line}");
            let text = message.text();
            assert!(text.ends_with("smuggled\r\n.\r\nlast line\r\n"), "{line}: {text:?}");
            let bare = text.replace("\r\n", "");
            assert!(!bare.contains(['\r', '\n']), "{line}: {text:?}");
        }
    }
    // The message is compared as on the wire: even servers that accept bare line feeds see no end of data.
    let fake = Server::replying(&[("EHLO", "250 fake")]);
    let message = format!("{BEGIN}a\n.\nb\r.\rc\r\n.\n{SECOND}");
    send(&bench, LIST, message, &format!("--relay {}", fake.address)).with(0);
    let received = fake.received();
    assert_eq!(received.matches("\r\n.\r\n").count(), 1, "{received:?}");
    let bare = received.replace("\r\n", "");
    assert!(!bare.contains(['\r', '\n']), "{received:?}");
}

/// A name server on loopback: the MX of every domain is its `mx.` name, and each name has this address. The server ends with the
/// test program.
struct NameServer {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl NameServer {
    fn start(target: [u8; 4]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("it is bound");
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut room = [0; 512];
            while let Ok((bytes, from)) = socket.recv_from(&mut room) {
                count.fetch_add(1, Ordering::Relaxed);
                if let Some(answer) = answer(&room[..bytes], target) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Self { address, asked }
    }
}

/// The answer to a question with a header of 12 bytes, one name, and its type and class (RFC 1035, section 4.1).
fn answer(question: &[u8], target: [u8; 4]) -> Option<Vec<u8>> {
    const A: u16 = 1;
    const MX: u16 = 15;
    let end = 12 + question.get(12..)?.iter().position(|&byte| byte == 0)? + 1;
    let kind = u16::from_be_bytes([*question.get(end)?, *question.get(end + 1)?]);
    let data = match kind {
        A => target.to_vec(),
        // The preference is 10, and the host is "mx" before the queried name.
        MX => vec![0, 10, 2, b'm', b'x', 0xc0, 12],
        _ => Vec::new(),
    };
    let answers = u8::from(!data.is_empty());
    let mut answer = question[..2].to_vec();
    // The header of an authoritative answer without error: one question and the number of answers.
    answer.extend([0x85, 0x80, 0, 1, 0, answers, 0, 0, 0, 0]);
    answer.extend(&question[12..end + 4]);
    if answers > 0 {
        // The record has the queried name and type, class IN, and a lifetime of a minute.
        answer.extend([0xc0, 12]);
        answer.extend(kind.to_be_bytes());
        answer.extend([0, 1, 0, 0, 0, 60]);
        answer.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        answer.extend(data);
    }
    Some(answer)
}

#[test]
fn mx_records_that_lead_to_loopback_are_still_in_test_mode() {
    let bench = bench();
    let sink = Sink::start(&bench, "");
    let server = NameServer::start([127, 0, 0, 1]);
    let list = "email\na@one.example\nb@two.example\nc@one.example\n";
    let message = "From: me@sender.test\nSubject: x\n\nx\n";
    let arguments =
        format!("--nameserver {} --port {} --json {SOON}", server.address, sink.address.port());
    let said = send(&bench, list, message, &arguments).with(0);
    let asked = server.asked.load(Ordering::Relaxed);
    assert!(asked >= 4, "it received {asked} queries");
    assert_eq!((&said.json()["test_mode"], &said.json()["delivered"]), (&true.into(), &3.into()));
    assert!(said.err.contains("test mode: no message is sent; --really-send"), "{}", said.err);
    assert!(sink.messages().is_empty(), "a message was received");
    let said = send(&bench, list, message, &format!("{arguments} --really-send")).with(0);
    assert_eq!(said.json()["test_mode"], false);
    let messages = sink.messages();
    assert_eq!(messages.len(), 2, "one for each domain");
    let to: Vec<_> =
        messages.iter().flat_map(|one| one.envelope["to"].as_array()).flatten().collect();
    assert_eq!(to.len(), 3, "{to:?}");
}

#[test]
fn mail_is_local_only_if_all_targets_are_local() {
    let bench = bench();
    let sink = Sink::start(&bench, "");
    // One domain has a remote route. No recipient of the list is in it, so that no connection is made to it.
    for (others, how, received) in
        [("elsewhere.test 192.0.2.1:25\n", "", 0), ("", "--dry", 0), ("", "", 1)]
    {
        bench.write("routes", &format!("x.test {}\n{others}", sink.address));
        let said = send(&bench, LIST, MESSAGE, &format!("--route routes --json {how}")).with(0);
        assert_eq!(said.json()["test_mode"], received == 0, "{others} {how}");
        assert_eq!(sink.messages().len(), received, "{others} {how}");
    }
}
