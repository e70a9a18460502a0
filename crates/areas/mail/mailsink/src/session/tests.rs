use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::counts::Counters;
use crate::extension::Extension;
use crate::identity::Identity;
use crate::options::SinkOptions;
use crate::record::Recorder;

fn state(options: &SinkOptions) -> SinkState {
    SinkState::new(options, Recorder::default(), Arc::new(Counters::default()))
}

fn with_tls() -> SinkOptions {
    let identity = Identity::made_for(vec!["localhost".into()]).unwrap();
    let login = Some(("me".to_owned(), "secret".to_owned()));
    SinkOptions { tls: Some(identity.configuration().unwrap()), login, ..SinkOptions::default() }
}

/// Runs a session with input in pieces, until it is over; returns the replies and the last result.
fn talk(
    talk: &mut ServerSession,
    sink: &mut SinkState,
    bytes: &[u8],
    size: usize,
) -> (String, Next) {
    let (mut received, mut out) = (Vec::new(), Vec::new());
    for mut piece in bytes.chunks(size) {
        while !piece.is_empty() {
            let (used, outcome) = talk.received(piece, sink, &mut out);
            received.append(&mut out);
            piece = &piece[used..];
            if outcome.next != Next::More {
                return (String::from_utf8(received).unwrap(), outcome.next);
            }
            assert!(used > 0 || received.len() >= OUTPUT_AT_ONCE, "it stands still");
        }
    }
    (String::from_utf8(received).unwrap(), Next::More)
}

fn codes(received: &str) -> Vec<&str> {
    let last = |line: &&str| line.as_bytes().get(3) == Some(&b' ');
    received.lines().filter(last).map(|line| &line[..3]).collect()
}

/// The codes of the replies to `sent`, in pieces of any size.
fn replies(options: &SinkOptions, secured: bool, sent: &str) -> (String, Next, Counters) {
    let mut of_all = None;
    for size in [1, 2, 3, 7, 4_096] {
        let mut sink = state(options);
        let mut session = ServerSession::new(1, &sink);
        if secured {
            session.is_secured();
        }
        let (received, next) = talk(&mut session, &mut sink, sent.as_bytes(), size);
        let codes = codes(&received).join(" ");
        let this = of_all.get_or_insert((codes.clone(), next));
        assert_eq!(*this, (codes, next), "pieces of {size} make a difference");
        if size == 4_096 {
            let counters = Arc::into_inner(std::mem::take(&mut sink.counters)).unwrap();
            return (this.0.clone(), next, counters);
        }
    }
    unreachable!("the last size returns")
}

#[test]
fn a_client_may_send_all_at_once() {
    let sent = "EHLO me\r\nMAIL FROM:<a@b> SIZE=10\r\nRCPT TO:<c@d>\r\nRCPT TO:<e@f>\r\nDATA\r\n\
                Subject: x\r\n\r\n..dot\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<c@d>\r\nDATA\r\n.\r\nQUIT\r\n";
    let (received, next, counters) = replies(&SinkOptions::default(), false, sent);
    assert_eq!(received, "250 250 250 250 354 250 250 250 354 250 221");
    assert_eq!(next, Next::Close);
    let counts = counters.read();
    assert_eq!((counts.messages, counts.recipients, counts.transactions), (2, 3, 2));
    assert_eq!(counts.bytes, "Subject: x\r\n\r\n.dot\r\n".len() as u64);
    assert_eq!((counts.commands, counts.bad_commands), (9, 0));
}

#[test]
fn malformed_and_misordered_commands_are_rejected() {
    for (sent, received) in [
        ("MAIL FROM:<a@b>\r\n", "503"),
        ("HELO x\r\nRCPT TO:<a@b>\r\nDATA\r\n", "250 503 503"),
        ("HELO x\r\nMAIL FROM:<>\r\nDATA\r\nMAIL FROM:<>\r\n", "250 250 554 503"),
        ("HELO x\r\nMAIL FROM:<>\r\nRSET\r\nMAIL FROM:<>\r\n", "250 250 250 250"),
        (
            "EHLO x\r\nMAIL FROM:<> SIZE=99999999999\r\nMAIL FROM:<> BODY=BINARYMIME\r\n",
            "250 552 555",
        ),
        ("EHLO x\r\nMAIL FROM:<\u{e9}@b>\r\nMAIL FROM:<\u{e9}@b> SMTPUTF8\r\n", "250 553 250"),
        ("EHLO x\r\nSTARTTLS\r\nAUTH PLAIN AGEAYg==\r\n", "250 502 502"),
        (
            "EHLO x\r\nMAIL FROM:<> RET=HDRS\r\nMAIL FROM:<> AUTH=<>\r\nMAIL FROM:<>\r\nRCPT TO:<a@b> NOTIFY=NEVER\r\n",
            "250 555 555 250 555",
        ),
        (
            "HELO x\r\nMAIL FROM:<a@-b>\r\nMAIL FROM:<a@b>\r\nRCPT TO:<a@b..c>\r\n",
            "250 501 250 501",
        ),
        ("HELP\r\nVRFY x\r\nNOOP\r\n", "500 252 250"),
        ("EHLO x\r\nMAIL FROM:a@b\r\nMAIL FROM:<a>\r\nMAIL FROM:<> X=1\r\n", "250 501 501 555"),
    ] {
        let (codes, next, _) = replies(&SinkOptions::default(), false, sent);
        assert_eq!((&codes[..], next), (received, Next::More), "{sent}");
    }
    let (received, next, _) = replies(&SinkOptions::default(), false, "EHLO x\nMAIL FROM:<>\r\n");
    assert_eq!((&received[..], next), ("521", Next::Linger), "nothing after a bare LF is believed");
}

#[test]
fn chunks_without_a_transaction_are_read() {
    let begin = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\n";
    for (rest, received) in [
        ("BDAT 4\r\nab\r\nBDAT 3 LAST\r\n.\r\nNOOP\r\n", "250 250 250"),
        ("BDAT 2\r\nabBDAT 0 LAST\r\nNOOP\r\n", "250 250 250"),
        ("BDAT 2\r\nabDATA\r\nRCPT TO:<a@b>\r\nRSET\r\nNOOP\r\n", "250 503 503 250 250"),
        ("RSET\r\nBDAT 6 LAST\r\nQUIT\r\nNOOP\r\n", "250 503 250"),
        ("BDAT 6\r\nQUIT\r\nRSET\r\n", "250 250"),
    ] {
        let sent = begin.to_owned() + rest;
        let (codes, ..) = replies(&SinkOptions::default(), false, &sent);
        assert_eq!(codes, "250 250 250 ".to_owned() + received, "{rest}");
    }
    let sent = begin.to_owned() + "BDAT 7 LAST\r\n..\r\n..\rRSET\r\n";
    let (_, _, counters) = replies(&SinkOptions::default(), false, &sent);
    assert_eq!(counters.read().bytes, 7, "there are no dots to take away");
}

#[test]
fn a_message_that_is_too_large_is_rejected_at_its_end() {
    let options = SinkOptions { size: 10, ..SinkOptions::default() };
    let begin = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\n";
    let data = |body: &str| format!("{begin}DATA\r\n{body}\r\n.\r\nNOOP\r\n");
    let (received, _, counters) = replies(&options, false, &data("12345678"));
    assert_eq!((&received[..], counters.read().messages), ("250 250 250 354 250 250", 1));
    let (received, _, counters) = replies(&options, false, &data("123456789"));
    assert_eq!((&received[..], counters.read().messages), ("250 250 250 354 552 250", 0));
    let sent = format!("{begin}BDAT 11\r\n12345678901BDAT 1 LAST\r\n2NOOP\r\n");
    assert_eq!(replies(&options, false, &sent).0, "250 250 250 552 503 250");
}

#[test]
fn auth_requires_tls() {
    let options = with_tls();
    let right = "AUTH PLAIN AG1lAHNlY3JldA==\r\n"; // base64 of \0me\0secret
    for (sent, received) in [
        (right, "235"),
        ("AUTH PLAIN\r\nAG1lAHNlY3JldA==\r\n", "334 235"),
        ("AUTH LOGIN\r\nbWU=\r\nc2VjcmV0\r\n", "334 334 235"),
        ("AUTH LOGIN bWU=\r\nc2VjcmV0\r\nAUTH LOGIN\r\n", "334 235 503"),
        ("AUTH LOGIN\r\nYm8=\r\nc2VjcmV0\r\n", "334 334 535"),
        ("AUTH PLAIN AG1lAHdyb25n\r\n", "535"),
        ("AUTH PLAIN =\r\nAUTH PLAIN x\r\nAUTH PLAIN\r\n*\r\n", "535 501 334 501"),
        ("AUTH CRAM-MD5\r\nSTARTTLS\r\n", "504 502"),
    ] {
        let sent = "EHLO x\r\n".to_owned() + sent;
        assert_eq!(replies(&options, true, &sent).0, format!("250 {received}"), "{sent}");
    }
    assert_eq!(replies(&options, false, &format!("EHLO x\r\n{right}")).0, "250 538");
}

#[test]
fn starttls_resets_the_session() {
    let options = with_tls();
    let (received, next, _) = replies(&options, false, "EHLO x\r\nSTARTTLS\r\nMAIL FROM:<>\r\n");
    assert_eq!((&received[..], next), ("250 220", Next::StartTls));
    let mut sink = state(&options);
    let mut session = ServerSession::new(1, &sink);
    talk(&mut session, &mut sink, b"EHLO x\r\nSTARTTLS\r\n", 100);
    session.is_secured();
    let (received, _) = talk(&mut session, &mut sink, b"MAIL FROM:<>\r\n", 100);
    assert_eq!(codes(&received), ["503"], "the client has to introduce itself again");
}

#[test]
fn disabled_extensions_are_not_offered() {
    use Extension::*;
    let without = vec![Chunking, SmtpUtf8, Size, EightBitMime, EnhancedStatusCodes];
    let options = SinkOptions { without, ..SinkOptions::default() };
    let sent = "EHLO x\r\nMAIL FROM:<> SIZE=1\r\nMAIL FROM:<> SMTPUTF8\r\nMAIL FROM:<> BODY=7BIT\r\n\
                BDAT 1\r\n";
    assert_eq!(replies(&options, false, sent).0, "250 555 555 555 502");
    let mut sink = state(&options);
    let (received, _) = talk(&mut ServerSession::new(1, &sink), &mut sink, b"NOOP\r\n", 9);
    assert_eq!(received, "250 ok\r\n");
    let options = SinkOptions { helo_only: true, ..SinkOptions::default() };
    assert_eq!(replies(&options, false, "EHLO x\r\nHELO x\r\nMAIL FROM:<>\r\n").0, "502 250 250");
}

#[test]
fn a_fault_replaces_the_reply() {
    let sent = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\nx\r\n.\r\nRSET\r\nQUIT\r\n";
    for (fault, received, last, messages) in [
        ("ehlo:5xx:1", "550 503 503 503 500 500 250 221", Next::Close, 0),
        ("mail:4xx:1", "250 451 503 503 500 500 250 221", Next::Close, 0),
        ("rcpt:4xx:1", "250 250 450 554 500 500 250 221", Next::Close, 0),
        ("data:drop:1", "250 250 250", Next::Close, 0),
        ("body:reset:1", "250 250 250 354", Next::Reset, 0),
        ("body:4xx:1", "250 250 250 354 451", Next::Linger, 0),
        ("end:5xx:1", "250 250 250 354 554 250 221", Next::Close, 0),
        ("end:stall:1", "250 250 250 354", Next::Stall, 0),
        ("end:late:1", "250 250 250 354", Next::Close, 1),
        ("end:slowly:1", "250 250 250 354 250 250 221", Next::Close, 1),
        ("quit:malformed:1", "250 250 250 354 250 250", Next::More, 1),
    ] {
        let options =
            SinkOptions { faults: vec![fault.parse().unwrap()], ..SinkOptions::default() };
        let (codes, next, counters) = replies(&options, false, sent);
        assert_eq!((&codes[..], next), (received, last), "{fault}");
        let counts = counters.read();
        assert_eq!(counts.messages, messages, "{fault}");
        let name = fault.strip_suffix(":1").unwrap();
        assert_eq!(counts.faults.into_iter().collect::<Vec<_>>(), [(name.to_owned(), 1)]);
    }
}

#[test]
fn late_replies_are_held_back_one_by_one() {
    let latencies = ["rcpt=10ms".parse().unwrap()].to_vec();
    let options = SinkOptions { latencies, ..SinkOptions::default() };
    let mut sink = state(&options);
    let mut session = ServerSession::new(1, &sink);
    let sent = b"HELO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\n";
    let mut out = Vec::new();
    let (used, outcome) = session.received(sent, &mut sink, &mut out);
    assert_eq!(&sent[used..], b"DATA\r\n");
    let pace = outcome.pace.unwrap();
    assert!(out[pace.from..].starts_with(b"250 2.1.5"));
    assert_eq!((pace.after, pace.every), (Duration::from_millis(10), None));
    let (_, outcome) = session.received(&sent[used..], &mut sink, &mut out);
    assert_eq!(outcome, MORE);
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"EHLO x\r\n",
        b"MAIL FROM:<>\r\n",
        b"RCPT TO:<a@b>\r\n",
        b"DATA\r\n",
        b"\r\n.\r\n",
        b"BDAT 5\r\n",
        b"BDAT 3 LAST\r\n",
        b"AUTH LOGIN\r\n",
        b"RSET\r\n",
        b"NOOP\r\n",
        b"text",
    ];
    let any = proptest::collection::vec(any::<u8>(), 0..30);
    prop_oneof![3 => proptest::sample::select(known).prop_map(<[u8]>::to_vec), 1 => any]
}

proptest! {
    #[test]
    fn replies_do_not_depend_on_segmentation(
        pieces in proptest::collection::vec(piece(), 0..30),
        size in 1_usize..40,
    ) {
        let bytes = pieces.concat();
        let options = SinkOptions { without: vec![Extension::Auth], ..SinkOptions::default() };
        let one = |size| {
            let mut sink = state(&options);
            let mut session = ServerSession::new(1, &sink);
            let (received, next) = talk(&mut session, &mut sink, &bytes, size);
            (received, next, sink.counters.read())
        };
        let (received, next, counts) = one(bytes.len().max(1));
        let pieced = one(size);
        prop_assert_eq!(&(received.clone(), next, counts.clone()), &pieced);
        // Each command has one reply. A message of DATA has one more after 354; a message of BDAT has one in all, which may
        // not have come yet.
        let codes = codes(&received);
        let of_commands = codes.len() as u64;
        let begun = codes.iter().filter(|code| **code == "354").count() as u64;
        prop_assert!(of_commands <= counts.commands + begun);
        prop_assert!(of_commands + 1 >= counts.commands);
    }
}
