//! Refusals of sessions and of transactions.

use super::*;

#[test]
fn a_refused_session_ends_with_quit() {
    // RFC 5321, section 4.1.1.10: the client sends QUIT even after an error reply. A 5yz reply is permanent (4.2.1), and a
    // server that refuses all mail says 554 and waits for QUIT (3.1).
    for (replies, is_permanent) in [
        (&["554 5.3.2 no mail here\r\n"][..], true),
        (&["421 4.3.2 too many\r\n"], false),
        (&["450 4.7.1 not now\r\n"], false),
        (&["220 mx\r\n", "421 4.3.2 busy\r\n"], false),
        (&["220 mx\r\n", "550 no\r\n", "550 no\r\n"], true),
        (&["220 mx\r\n", "502 what?\r\n", "450 not now\r\n"], false),
    ] {
        let mut session = Session::new(Arc::new(options()));
        let mut last = String::new();
        for reply in replies {
            session.received(reply.as_bytes());
            last = said(&mut session);
        }
        assert_eq!(last, "QUIT\r\n", "{replies:?}");
        let reported = events(&mut session);
        assert_eq!(failure(&reported).map(|f| f.is_permanent), Some(is_permanent), "{replies:?}");
        assert!(!session.is_over(), "the reply to QUIT is awaited");
        assert_eq!(after(&mut session, "221 bye\r\n"), [Event::Finished]);
    }
    // The server closes the connection without a reply to QUIT.
    let mut session = told(&options(), &["421 busy\r\n"]);
    session.broken("closed");
    assert_eq!(events(&mut session).last(), Some(&Event::Finished));
}

#[test]
fn a_transient_refusal_of_mail_leaves_the_recipients_to_another_server() {
    // RFC 5321, section 5.1: the client tries the next server after a transient failure.
    for (offers, replies) in [
        (PIPELINING, "451 4.3.0 no\r\n503 no\r\n503 no\r\n"),
        (PIPELINING, "452 4.3.1 disk full\r\n503 no\r\n503 no\r\n"),
        (NOTHING, "451 4.3.0 no\r\n"),
        (PIPELINING, "421 4.3.2 closing\r\n"),
    ] {
        let mut session = begun(offers, &["a@x.test"]);
        let mut reported = after(&mut session, replies);
        if said(&mut session) == "RSET\r\n" {
            reported.extend(after(&mut session, "250 ok\r\n"));
            assert_eq!(said(&mut session), "QUIT\r\n");
        }
        assert_eq!(settled(&reported), [(0, Requeued)], "{replies}");
        assert_eq!(failure(&reported).map(|failure| failure.phase), Some(SmtpPhase::Mail));
        assert_eq!(after(&mut session, "221 bye\r\n").last(), Some(&Event::Finished));
    }
}

#[test]
fn recipients_that_no_server_has_looked_at_are_requeued() {
    // The server closes the connection after a message; the next envelope was sent and not read.
    let mut session = asked_for_a_message();
    session.deliver();
    session.begin(transaction(&["b@x.test"], "\r\n"));
    said(&mut session);
    session.received(b"250 taken\r\n");
    session.broken("the server closed the connection");
    let reported = events(&mut session);
    assert_eq!(settled(&reported), [(0, Delivered), (0, Requeued)]);
    let why = &failure(&reported).unwrap().why;
    assert_eq!(&**why, "no reply to MAIL: the server closed the connection");
}
