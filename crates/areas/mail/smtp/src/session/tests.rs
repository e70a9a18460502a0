mod refusals;

use proptest::prelude::*;

use super::*;
use crate::address::Address;
use crate::auth::Credentials;
use crate::security::Security;
use crate::transaction::{EnvelopeRecipient, Message};
use DeliveryStatus::{Deferred, Delivered, Failed, Requeued, Uncertain};

const EVERYTHING: &str =
    "250-mx.test\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250 CHUNKING\r\n";
const PIPELINING: &str = "250-mx.test\r\n250 PIPELINING\r\n";
const NOTHING: &str = "250 mx.test\r\n";
const MESSAGE: &str = "A: b\r\n\r\n";
const GO_ON: &str = "250 ok\r\n250 ok\r\n354 go on\r\n";

fn options() -> SessionOptions {
    SessionOptions {
        hello: "me.test".into(),
        security: Security::Off,
        credentials: None,
        dry: false,
        pipelining: true,
        chunking: true,
    }
}

fn transaction(to: &[&str], message: &str) -> Transaction {
    let address = |text: &str| Address::parse(text).unwrap();
    let to = to.iter().enumerate();
    Transaction {
        from: Some(address("me@me.test")),
        to: to.map(|(n, to)| EnvelopeRecipient { index: n as u32, address: address(to) }).collect(),
        message: Arc::new(Message::new(message.into())),
    }
}

/// Takes the text that the session sends now.
fn said(session: &mut Session) -> String {
    let said = String::from_utf8(session.to_send().to_vec()).unwrap();
    session.was_sent(said.len());
    said
}

fn events(session: &mut Session) -> Vec<Event> {
    let events = std::iter::from_fn(|| session.event());
    events.filter(|event| !matches!(event, Event::Answered(_))).collect()
}

/// The events that follow from a server's replies.
fn after(session: &mut Session, replies: &str) -> Vec<Event> {
    session.received(replies.as_bytes());
    events(session)
}

/// The server replies to one text of the client after the other.
#[track_caller]
fn converses(session: &mut Session, texts_and_replies: &[(&str, &str)]) {
    for (text, reply) in texts_and_replies {
        assert_eq!(said(session), *text);
        session.received(reply.as_bytes());
    }
}

/// A new session that has received these replies.
fn told(options: &SessionOptions, replies: &[&str]) -> Session {
    let mut session = Session::new(Arc::new(options.clone()));
    replies.iter().for_each(|reply| session.received(reply.as_bytes()));
    session
}

/// A session that may begin a transaction, with a server that offers the extensions `offers`.
fn greeted(options: SessionOptions, offers: &str) -> Session {
    let mut session = told(&options, &["220 mx.test\r\n"]);
    assert_eq!(said(&mut session), "EHLO me.test\r\n");
    assert_eq!(after(&mut session, offers), [Event::Ready]);
    session
}

/// A greeted session that has sent the beginning of a transaction.
fn begun(offers: &str, to: &[&str]) -> Session {
    let mut session = greeted(options(), offers);
    session.begin(transaction(to, MESSAGE));
    said(&mut session);
    session
}

/// A session whose server waits for a message to one recipient, which may be delivered now.
fn asked_for_a_message() -> Session {
    let mut session = begun(PIPELINING, &["a@x.test"]);
    session.received(GO_ON.as_bytes());
    session
}

/// The reported failure.
fn failure(events: &[Event]) -> Option<&SessionFailure> {
    events.iter().find_map(|event| match event {
        Event::Failed(failure) => Some(failure),
        _ => None,
    })
}

fn settled(events: &[Event]) -> Vec<(u32, DeliveryStatus)> {
    let outcomes = events.iter().filter_map(|event| match event {
        Event::Settled(outcomes) => Some(outcomes),
        _ => None,
    });
    outcomes.flatten().map(|outcome| (outcome.recipient, outcome.status)).collect()
}

#[test]
fn the_next_recipients_and_the_goodbye_go_along_with_a_message() {
    let mut session = greeted(options(), PIPELINING);
    session.begin(transaction(&["a@x.test", "b@x.test"], "A: b\r\n\r\n.dot\r\n"));
    let first = "MAIL FROM:<me@me.test>\r\nRCPT TO:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n";
    assert_eq!(said(&mut session), first);
    let replies = "250 ok\r\n250 ok\r\n550 5.1.1 unknown\r\n354 go on\r\n";
    assert_eq!(after(&mut session, replies), [Event::Delivering(vec![0])]);
    assert_eq!(said(&mut session), "", "not before it is written down");
    session.deliver();
    assert_eq!(events(&mut session), [Event::Ready]);
    session.begin(transaction(&["c@x.test"], MESSAGE));
    let second = "MAIL FROM:<me@me.test>\r\nRCPT TO:<c@x.test>\r\nDATA\r\n";
    assert_eq!(said(&mut session), format!("A: b\r\n\r\n..dot\r\n.\r\n{second}"));
    let reported = after(&mut session, &format!("250 2.0.0 queued\r\n{GO_ON}"));
    assert_eq!(settled(&reported), [(0, Delivered), (1, Failed)]);
    assert_eq!(reported.last(), Some(&Event::Delivering(vec![0])));
    session.deliver();
    session.quit();
    assert_eq!(said(&mut session), "A: b\r\n\r\n.\r\nQUIT\r\n");
    let reported = after(&mut session, "250 ok\r\n221 bye\r\n");
    assert_eq!(settled(&reported), [(0, Delivered)]);
    assert_eq!(reported.last(), Some(&Event::Finished));
    assert_eq!(session.groups(), 4);
}

#[test]
fn without_pipelining_each_command_is_answered_before_the_next() {
    let mut session = greeted(options(), NOTHING);
    session.begin(transaction(&["a@x.test", "b@x.test"], MESSAGE));
    let commands = [
        ("MAIL FROM:<me@me.test>\r\n", "250 ok\r\n"),
        ("RCPT TO:<a@x.test>\r\n", "451 later\r\n"),
        ("RCPT TO:<b@x.test>\r\n", "252 maybe\r\n"),
        ("DATA\r\n", "354 go on\r\n"),
    ];
    converses(&mut session, &commands);
    assert_eq!(events(&mut session), [Event::Delivering(vec![1])]);
    session.deliver();
    converses(&mut session, &[("A: b\r\n\r\n.\r\n", "250 ok\r\n")]);
    let reported = events(&mut session);
    assert_eq!(settled(&reported), [(0, Deferred), (1, Delivered)]);
    assert_eq!(reported.last(), Some(&Event::Ready));
    session.quit();
    assert_eq!(said(&mut session), "QUIT\r\n");
}

#[test]
fn a_server_that_wants_nobody_is_told_to_forget_the_transaction() {
    let mut session = begun(NOTHING, &["a@x.test", "b@x.test"]);
    session.received(b"550 not you\r\n");
    converses(&mut session, &[("RSET\r\n", "250 ok\r\n")]);
    let reported = events(&mut session);
    assert_eq!(settled(&reported), [(0, Failed), (1, Failed)]);
    assert_eq!(reported.last(), Some(&Event::Ready));
}

#[test]
fn a_refused_message_leaves_no_transaction_open() {
    for (offers, size, last) in
        [(PIPELINING, "", "DATA\r\n"), (EVERYTHING, " SIZE=8", "BDAT 8 LAST\r\nA: b\r\n\r\n")]
    {
        let mut session = greeted(options(), offers);
        session.begin(transaction(&["a@x.test"], MESSAGE));
        session.deliver();
        let envelope = format!("MAIL FROM:<me@me.test>{size}\r\nRCPT TO:<a@x.test>\r\n{last}");
        let refusal = "250 ok\r\n450 later\r\n503 for whom?\r\n";
        converses(&mut session, &[(&envelope, refusal), ("RSET\r\n", "250 ok\r\n")]);
        let reported = events(&mut session);
        assert_eq!(settled(&reported), [(0, Deferred)]);
        assert!(reported.contains(&Event::Ready));
    }
}

#[test]
fn nothing_is_said_within_a_transaction_that_is_not_known() {
    // The server rejects RSET, so the first transaction is still open, and the recipient of the second is requeued.
    let mut session = begun(PIPELINING, &["a@x.test"]);
    session.received(b"250 ok\r\n450 later\r\n503 for whom?\r\n");
    session.begin(transaction(&["b@x.test"], MESSAGE));
    said(&mut session);
    session.received(b"451 no\r\n503 within another\r\n250 ok\r\n354 go on\r\n");
    assert_eq!(said(&mut session), "QUIT\r\n");
    assert_eq!(settled(&events(&mut session)), [(0, Deferred), (0, Requeued)]);
    // The second server replies to DATA although it rejected MAIL.
    let mut session = begun(PIPELINING, &["a@x.test"]);
    session.received(b"451 no\r\n250 ok\r\n354 go on\r\n");
    assert_eq!(said(&mut session), "");
    let reported = events(&mut session);
    assert_eq!(settled(&reported), [(0, Requeued)]);
    assert!(failure(&reported).is_some() && session.is_over());
}

#[test]
fn what_follows_a_long_message_is_said_after_it() {
    let body = ".a line\r\n".repeat(COPIED_AT_MOST / 5);
    let mut session = greeted(options(), PIPELINING);
    session.begin(transaction(&["a@x.test"], &body));
    said(&mut session);
    session.received(GO_ON.as_bytes());
    session.deliver();
    session.begin(transaction(&["b@x.test"], &body));
    let mut all = String::new();
    while !session.to_send().is_empty() {
        let part = session.to_send().len().min(1_000);
        all += std::str::from_utf8(&session.to_send()[..part]).unwrap();
        session.was_sent(part);
        assert!(session.output.commands().len() < 1_000, "it is not copied");
    }
    let next = "MAIL FROM:<me@me.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n";
    assert!(all == body.replace(".a", "..a") + ".\r\n" + next);
}

#[test]
fn a_message_whose_end_was_not_sent_was_not_taken() {
    for (sent_but, status) in [(1, Requeued), (0, Uncertain)] {
        let mut session = greeted(options(), EVERYTHING);
        session.begin(transaction(&["a@x.test"], MESSAGE));
        session.deliver();
        let sent = session.to_send().len() - sent_but;
        session.was_sent(sent);
        session.broken("reset");
        assert_eq!(settled(&events(&mut session)), [(0, status)]);
    }
    // Everything was sent except the QUIT that follows the message.
    let mut session = asked_for_a_message();
    session.deliver();
    session.quit();
    let sent = session.to_send().len() - "QUIT\r\n".len();
    session.was_sent(sent);
    session.broken("reset");
    assert_eq!(settled(&events(&mut session)), [(0, Uncertain)]);
}

#[test]
fn a_server_that_waits_for_a_message_for_nobody_gets_an_empty_one() {
    let mut session = begun(PIPELINING, &["a@x.test"]);
    session.received(b"250 ok\r\n550 unknown\r\n354 go on\r\n");
    assert_eq!(said(&mut session), ".\r\n");
    session.quit();
    let reported = after(&mut session, "554 no valid recipients\r\n");
    assert_eq!(settled(&reported), [(0, Failed)]);
    assert_eq!(said(&mut session), "QUIT\r\n");
}

#[test]
fn a_message_in_chunks_goes_along_with_its_recipients() {
    let mut session = greeted(options(), EVERYTHING);
    session.begin(transaction(&["a@x.test"], "A: b\r\n\r\n.dot\r\n"));
    assert_eq!(events(&mut session), [Event::Delivering(vec![0])]);
    session.deliver();
    let expected = "MAIL FROM:<me@me.test> SIZE=14\r\nRCPT TO:<a@x.test>\r\nBDAT 14 LAST\r\nA: b\r\n\r\n.dot\r\n";
    assert_eq!(said(&mut session), expected);
    assert_eq!(after(&mut session, "250 ok\r\n250 ok\r\n"), []);
    let reported = after(&mut session, "250 taken\r\n");
    assert_eq!(settled(&reported), [(0, Delivered)]);
    assert_eq!(reported.last(), Some(&Event::Ready));
}

#[test]
fn what_a_server_cannot_take_is_not_sent() {
    let mut session = greeted(options(), "250-mx.test\r\n250 SIZE 5\r\n");
    session.begin(transaction(&["a@x.test"], MESSAGE));
    let reported = events(&mut session);
    let Event::Settled(outcomes) = &reported[0] else { panic!("{reported:?}") };
    assert_eq!(&*outcomes[0].why, "the message has 8 bytes, the server takes 5");
    assert_eq!(settled(&reported), [(0, Failed)]);
    assert_eq!(reported.last(), Some(&Event::Ready));
    session.begin(transaction(&["a@x.test"], "\r\n\u{e9}\r\n"));
    assert_eq!(settled(&events(&mut session)), [(0, Failed)], "no 8BITMIME");
    session.begin(transaction(&["\u{e9}@x.test"], "\r\n"));
    assert_eq!(settled(&events(&mut session)), [(0, Failed)], "no SMTPUTF8");
    assert_eq!(said(&mut session), "");
}

#[test]
fn in_test_mode_no_message_is_sent() {
    for (offers, last) in [(EVERYTHING, " SIZE=8"), (NOTHING, "")] {
        let mut session = greeted(SessionOptions { dry: true, ..options() }, offers);
        session.begin(transaction(&["a@x.test", "b@x.test"], MESSAGE));
        let mut all = String::new();
        for reply in ["250 ok\r\n", "250 ok\r\n", "550 no\r\n", "250 reset\r\n"] {
            all += &said(&mut session);
            session.received(reply.as_bytes());
        }
        let expected = format!(
            "MAIL FROM:<me@me.test>{last}\r\nRCPT TO:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nRSET\r\n"
        );
        assert_eq!(all, expected);
        assert_eq!(settled(&events(&mut session)), [(0, Delivered), (1, Failed)]);
    }
}

#[test]
fn a_full_transaction_leaves_the_rest_for_another() {
    // RFC 3463, section 3.6: X.5.3 "should normally result in the segmentation of the message".
    for limit in
        ["452 4.5.3 too many", "550 5.5.3 Too many recipients", "451 4.5.3 Too many recipients"]
    {
        let mut session = begun(PIPELINING, &["a@x.test", "b@x.test"]);
        session.received(format!("250 ok\r\n250 ok\r\n{limit}\r\n354 go on\r\n").as_bytes());
        session.deliver();
        let reported = after(&mut session, "250 ok\r\n");
        assert_eq!(settled(&reported), [(0, Delivered), (1, Requeued)], "{limit}");
    }
}

#[test]
fn a_connection_lost_after_the_message_leaves_it_uncertain() {
    let mut session = asked_for_a_message();
    session.broken("reset");
    assert_eq!(settled(&events(&mut session)), [(0, Deferred)], "not sent yet");
    let mut session = asked_for_a_message();
    session.deliver();
    session.begin(transaction(&["b@x.test"], "\r\n"));
    events(&mut session);
    session.broken("reset");
    let reported = events(&mut session);
    assert_eq!(settled(&reported), [(0, Uncertain), (0, Requeued)]);
    assert!(failure(&reported).is_some() && session.is_over());
    let mut session = asked_for_a_message();
    session.deliver();
    assert_eq!(settled(&after(&mut session, "421 going down\r\n")), [(0, Deferred)], "it said no");
}

#[test]
fn a_client_without_a_name_says_its_address() {
    for (address, literal) in [
        ("192.0.2.1", "[192.0.2.1]"),
        ("2001:db8::1", "[IPv6:2001:db8::1]"),
        ("::ffff:192.0.2.1", "[192.0.2.1]"),
    ] {
        let nameless = SessionOptions { hello: String::new(), ..options() };
        let mut session = Session::new(Arc::new(nameless));
        assert!(session.needs_local());
        session.set_local(address.parse().unwrap());
        session.received(b"220 mx\r\n");
        assert_eq!(said(&mut session), format!("EHLO {literal}\r\n"));
    }
}

#[test]
fn an_old_server_is_greeted_the_old_way() {
    let mut session = told(&options(), &["220-mx\r\n220 test\r\n"]);
    said(&mut session);
    session.received(b"502 what?\r\n");
    assert_eq!(said(&mut session), "HELO me.test\r\n");
    assert_eq!(after(&mut session, "250 mx.test\r\n"), [Event::Ready]);
}

#[test]
fn tls_that_is_required_is_had_or_nothing_is_said() {
    let required = SessionOptions { security: Security::Required, ..options() };
    let refused = |replies: &[&str]| {
        let reported = events(&mut told(&required, replies));
        failure(&reported).is_some_and(|failure| failure.phase == SmtpPhase::Tls)
    };
    assert!(refused(&["220 mx\r\n", NOTHING]), "not offered");
    let offered = "250-mx\r\n250 STARTTLS\r\n";
    assert!(refused(&["220 mx\r\n", offered, "454 not now\r\n"]));
    assert!(refused(&["220 mx\r\n", offered, "220 go\r\n250 injected\r\n"]));
    assert!(!refused(&["220 mx\r\n", offered, "220 go\r\n"]));
}

#[test]
fn after_tls_the_server_is_asked_anew_what_it_offers() {
    let offered = SessionOptions { security: Security::Offered, ..options() };
    let replies = ["220 mx\r\n", "250-mx\r\n250-PIPELINING\r\n250 STARTTLS\r\n"];
    let mut session = told(&offered, &replies);
    assert_eq!(said(&mut session), "EHLO me.test\r\nSTARTTLS\r\n");
    assert_eq!(after(&mut session, "220 go\r\n"), [Event::Secure]);
    session.is_secured();
    assert_eq!(said(&mut session), "EHLO me.test\r\n");
    session.received(NOTHING.as_bytes());
    session.begin(transaction(&["a@x.test"], "\r\n"));
    assert_eq!(said(&mut session), "MAIL FROM:<me@me.test>\r\n", "no pipelining now");
}

#[test]
fn a_password_is_said_over_tls_only_and_shown_nowhere() {
    let credentials = Some(Credentials::parse(b"jo:open sesame").unwrap());
    let with = SessionOptions { credentials, security: Security::Offered, ..options() };
    let mut session = told(&with, &["220 mx\r\n"]);
    said(&mut session);
    let reported = after(&mut session, "250-mx\r\n250 AUTH PLAIN LOGIN\r\n");
    assert!(failure(&reported).is_some_and(|failure| failure.is_login));
    assert_eq!(said(&mut session), "QUIT\r\n", "no TLS");

    let secured = |offers: &str| {
        let replies = ["220 mx\r\n", "250-mx\r\n250 STARTTLS\r\n", "220 go\r\n"];
        let mut session = told(&with, &replies);
        session.is_secured();
        said(&mut session);
        session.received(offers.as_bytes());
        session
    };
    let mut session = secured("250-mx\r\n250 AUTH LOGIN PLAIN\r\n");
    assert!(!format!("{session:?}").contains("AG"), "{session:?}");
    assert_eq!(said(&mut session), "AUTH PLAIN AGpvAG9wZW4gc2VzYW1l\r\n"); // encoded by coreutils' base64, by RFC 4616
    assert_eq!(after(&mut session, "235 ok\r\n").last(), Some(&Event::Ready));
    let mut session = secured("250-mx\r\n250 AUTH LOGIN\r\n");
    let lines = ["AUTH LOGIN\r\n", "am8=\r\n", "b3BlbiBzZXNhbWU=\r\n"];
    converses(&mut session, &lines.map(|line| (line, "334 more\r\n")));
    converses(&mut session, &[("*\r\n", "535 wrong\r\n")]);
    let reported = events(&mut session);
    assert!(failure(&reported).is_some_and(|failure| failure.is_login));
    for repeats in
        ["500 what is AUTH PLAIN AGpvAG9wZW4gc2VzYW1l?\r\n", "AUTH PLAIN AGpvAG9wZW4gc2Vz\r\n"]
    {
        let mut session = secured("250-mx\r\n250 AUTH PLAIN\r\n");
        said(&mut session);
        let reported = after(&mut session, repeats);
        let Some(failure) = failure(&reported) else { panic!("{reported:?}") };
        assert!(failure.why.contains("AUTH PLAIN …"), "{}", failure.why);
        assert!(!failure.why.contains("b3Blbi"), "{}", failure.why);
        assert!(!failure.why.contains("AG9wZW"), "{}", failure.why);
    }
}

/// Converses with a server of random replies, which reads commands one by one or in groups, and may break off.
fn converse(session: &mut Session, mut luck: impl Iterator<Item = u8>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut received: Vec<u8> = Vec::new();
    let mut next_index = 0;
    let (mut in_message, mut has_failed) = (false, false);
    session.received(b"220 mx\r\n");
    for _ in 0..2_000 {
        while let Some(event) = session.event() {
            match event {
                Event::Ready if next_index < 40 => {
                    let mut next = transaction(&["a@x.test", "b@x.test"], "A: b\r\n\r\nc\r\n");
                    next.to.iter_mut().for_each(|to| to.index += next_index);
                    next_index += 2;
                    session.begin(next);
                }
                Event::Ready => session.quit(),
                Event::Delivering(_) => session.deliver(),
                Event::Settled(more) => outcomes.extend(more),
                Event::Finished => return outcomes,
                Event::Failed(_) => {
                    assert!(!std::mem::replace(&mut has_failed, true), "one failure at most");
                }
                Event::Secure | Event::Answered(_) => {}
            }
        }
        received.extend_from_slice(session.to_send());
        session.was_sent(session.to_send().len());
        let Some(end) = received.windows(2).position(|two| two == b"\r\n") else {
            session.broken("nothing more to say");
            continue;
        };
        let line: Vec<u8> = received.drain(..end + 2).collect();
        let line = String::from_utf8(line).unwrap();
        if in_message && line != ".\r\n" {
            continue;
        }
        let drawn = luck.next().unwrap_or(0);
        let code = match drawn {
            200.. => 421,
            190.. => {
                session.broken("reset");
                continue;
            }
            170.. => 550,
            150.. => 451,
            _ if line.starts_with("DATA") => 354,
            _ => 250,
        };
        if in_message {
            in_message = false;
        } else if let Some(size) = line.strip_prefix("BDAT ") {
            let size: usize = size.split(' ').next().unwrap().parse().unwrap();
            received.drain(..size);
        } else if line.starts_with("EHLO") {
            let offers = [EVERYTHING, PIPELINING, NOTHING][usize::from(drawn % 3)];
            session.received(offers.as_bytes());
            continue;
        }
        in_message |= code == 354;
        session.received(format!("{code} so be it\r\n").as_bytes());
        if code == 421 && !session.is_over() {
            session.broken("closed");
        }
    }
    panic!("it never ends: {session:?}");
}

proptest! {
    /// For any replies of a server, each recipient of a transaction has exactly one outcome.
    #[test]
    fn everybody_has_one_outcome(
        luck in proptest::collection::vec(any::<u8>(), 0..200),
        dry in any::<bool>(),
        pipelining in any::<bool>(),
        chunking in any::<bool>(),
    ) {
        let mut session = Session::new(Arc::new(SessionOptions { dry, pipelining, chunking, ..options() }));
        let outcomes = converse(&mut session, luck.into_iter());
        let mut recipients: Vec<u32> = outcomes.iter().map(|outcome| outcome.recipient).collect();
        recipients.sort_unstable();
        let all: Vec<u32> = (0..recipients.len() as u32).collect();
        prop_assert_eq!(recipients, all);
        if dry {
            prop_assert!(outcomes.iter().all(|outcome| outcome.status != Uncertain));
        }
    }

    /// No input from a server causes a panic, or is all kept in memory.
    #[test]
    fn any_answer_is_borne(answers in proptest::collection::vec(any::<Vec<u8>>(), 0..30)) {
        let mut session = Session::new(Arc::new(options()));
        for answer in answers {
            session.received(&answer);
            while let Some(event) = session.event() {
                if event == Event::Ready {
                    session.quit();
                }
            }
            prop_assert!(session.to_send().len() < 10_000);
        }
    }
}
