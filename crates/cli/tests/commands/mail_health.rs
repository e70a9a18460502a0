//! `oscost mail send` to servers in trouble: what it does next, and what it says of them.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};

use crate::common::linux::{signal, with_descriptors};
use crate::common::mail::{SHARED, Sink, begin, events, send, write};
use crate::common::smtp_server::{Act, Seen, Server};
use crate::common::{Bench, Said, finish, said_by};

/// What a server does.
type Script = fn(&Seen) -> Option<Act>;

const SHORT: &str = "--retry-after 100ms --give-up 1s";

/// Delivers to `recipients` in one domain.
fn deliver(bench: &Bench, recipients: usize, how: &str) -> Said {
    write(bench, recipients, 1, SHARED);
    finish(&mut send(bench, how))
}

/// Delivers to `recipients` in one domain by a server that does what `script` says.
fn deliver_by(
    script: impl Fn(&Seen) -> Option<Act> + Send + Sync + 'static,
    recipients: usize,
    how: &str,
) -> (Said, Server, Bench) {
    let (bench, server) = (Bench::new(), Server::start(script));
    let said = deliver(&bench, recipients, &format!("--relay {} {how}", server.address));
    (said, server, bench)
}

/// The number of distinct connections on which a server saw this verb.
fn connections(server: &Server, verb: &str) -> usize {
    let seen = server.seen();
    let all: HashSet<usize> =
        seen.iter().filter(|seen| seen.verb == verb).map(|seen| seen.connection).collect();
    all.len()
}

#[test]
fn the_reason_is_told_at_once_and_under_left() {
    let bench = Bench::new();
    write(&bench, 2, 1, SHARED);
    let mut child = begin(&bench, "--relay 127.0.0.1:1 --retry-after 1m --give-up 4h");
    let reason = "127.0.0.1:1: Connection refused";
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut told = lines.map(|line| line.expect("text")).take_while(|line| !line.is_empty());
    let told_at_once = told.find(|line| line.contains(reason)).expect("the reason");
    assert!(told_at_once.contains(&format!("{reason}; trying again until 20")), "{told_at_once}");
    signal(&child, libc::SIGTERM);
    let rest = std::thread::spawn(move || told.count());
    let said = said_by(child).with(3);
    rest.join().expect("a reader");
    let report = said.json();
    assert_eq!(report["left_reasons"][0]["reason"], reason, "{report}");
    assert_eq!(report["left_reasons"][0]["recipients"], 2, "{report}");
    let journal = rusqlite::Connection::open(bench.path("list.csv.journal")).expect("a journal");
    let why: String = journal
        .query_row("SELECT why FROM event WHERE what = 6", [], |row| row.get(0))
        .expect("an event of the server");
    assert_eq!(why, reason);
    drop(journal);
    // The text has it, too. A resumed delivery reads the journal with such events.
    let text = bench.command(
        "mail send --list list.csv --message message.eml --from us@oscost.test --relay 127.0.0.1:1 --resume \
         --retry-after 100ms --give-up 300ms",
    );
    finish(&mut { text }).with(1).says(&["deferred", reason]);
}

/// Checks each kind of refusal: the recipients are deferred or failed for this reason, which is told at once.
#[test]
fn every_refusal_names_its_reason() {
    use Act::{Close, Say, SayAndClose};
    for (verbs, act, why, outcome) in [
        ("connect", SayAndClose("421 4.3.2 busy"), "421 4.3.2 busy", "deferred"),
        // RFC 5321, sections 3.1 and 4.2.1: a 5yz reply is permanent.
        ("connect", Say("554 5.3.2 no mail here"), "554 5.3.2 no mail here", "failed"),
        ("EHLO HELO", Say("550 go away"), "550 go away", "failed"),
        ("connect", Close, "no greeting: the server closed the connection", "deferred"),
        ("RCPT", Say("450 4.2.0 later"), "450 4.2.0 later", "deferred"),
        ("MAIL", Close, "no reply to MAIL: the server closed the connection", "deferred"),
    ] {
        let is_meant = move |seen: &Seen| verbs.split(' ').any(|verb| verb == seen.verb);
        let script = move |seen: &Seen| is_meant(seen).then(|| act.clone());
        let (said, server, _) = deliver_by(script, 2, SHORT);
        let said = said.with(1);
        assert_eq!(said.json()[outcome], 2, "{why}: {}", said.out);
        assert!(said.err.contains(why) && said.out.contains(why), "{why}: {}", said.err);
        if why.starts_with("55") {
            // RFC 5321, section 4.1.1.10: QUIT is sent after an error, too.
            assert_eq!(server.count("QUIT"), connections(&server, "connect"), "{why}");
        }
    }
}

#[test]
fn sources_of_the_other_family_are_refused() {
    let bench = Bench::new();
    let said = deliver(&bench, 1, "--relay 127.0.0.1:1 --source ::1").with(2);
    said.complains(&["--source", "IPv4", "127.0.0.1:1"]);
}

#[test]
fn a_server_that_admits_three_connections_is_not_hammered() {
    let refusals: [Script; 4] = [
        |s| (s.verb == "connect").then_some(Act::SayAndClose("421 4.7.0 too many connections")),
        |s| (s.verb == "connect").then_some(Act::SayAndClose("450 4.7.1 too many connections")),
        |s| (s.verb == "EHLO").then_some(Act::SayAndClose("421 4.7.0 too many connections")),
        |s| (s.verb == "connect").then_some(Act::Close),
    ];
    for refusal in refusals {
        let script = move |s: &Seen| {
            if s.open > 3 {
                return refusal(s);
            }
            if s.verb == "." {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            None
        };
        let (said, server, _) = deliver_by(script, 200, &format!("--recipients 1 {SHORT}"));
        let report = said.with(0).json();
        assert_eq!(report["delivered"], 200, "{report}");
        let refused = connections(&server, "connect") - connections(&server, "MAIL");
        assert!(refused <= 20, "{refused} refused: {report}");
    }
}

/// RFC 5321, section 5.1: the client tries each server in order until the delivery succeeds.
#[test]
fn the_next_server_is_tried_after_any_transient_failure() {
    let troubles: [(&str, Script); 8] = [
        ("MAIL 421", |s| (s.verb == "MAIL").then_some(Act::SayAndClose("421 closing"))),
        ("MAIL 451", |s| (s.verb == "MAIL").then_some(Act::Say("451 4.3.0 no"))),
        ("MAIL 452", |s| (s.verb == "MAIL").then_some(Act::Say("452 4.3.1 disk full"))),
        ("MAIL closes", |s| (s.verb == "MAIL").then_some(Act::Close)),
        ("RCPT 450", |s| (s.verb == "RCPT").then_some(Act::Say("450 4.2.0 later"))),
        ("DATA 451", |s| (s.verb == "DATA").then_some(Act::Say("451 4.3.0 no"))),
        ("message closes", |s| (s.verb == ".").then_some(Act::Close)),
        ("554", |s| (s.verb == "connect").then_some(Act::Say("554 no"))),
    ];
    for (what, trouble) in troubles {
        let (bench, good) = (Bench::new(), Server::start(|_| None));
        let bad = Server::start(trouble);
        bench.write("routes", &format!("* {} {}\n", bad.address, good.address));
        let said = deliver(&bench, 5, "--route routes --retry-after 200ms --give-up 60s").with(0);
        assert_eq!(said.json()["delivered"], 5, "{what}");
        assert!(good.count(".") > 0, "{what}");
        let deferrals = &said.json()["deferrals"];
        let is_at_once = what.starts_with("MAIL") || what == "554";
        assert_eq!(*deferrals == 0, is_at_once, "{what}: {deferrals}");
    }
}

#[test]
fn a_connection_closed_between_messages_delays_nobody() {
    // The server closes the connection with the second message, and so leaves the next envelope unread.
    let script = |s: &Seen| (s.verb == "MAIL" && s.messages == 2).then_some(Act::Close);
    let how = "--recipients 1 --connections 1 --retry-after 1m";
    let report = deliver_by(script, 20, how).0.with(0).json();
    assert_eq!((&report["delivered"], &report["deferrals"]), (&20.into(), &0.into()), "{report}");
}

#[test]
fn uncertain_recipients_are_counted_once() {
    let script = |s: &Seen| (s.verb == ".").then_some(Act::Close);
    for (give_up, repeated) in [("3s", 3), ("100ms", 0)] {
        let how = format!("--retry-after 200ms --give-up {give_up}");
        let (said, _, bench) = deliver_by(script, 3, &how);
        let report = said.with(1).json();
        assert_eq!(report["deferred"], 3, "{report}");
        assert_eq!(report["possibly_repeated"], repeated, "{report}");
        assert_eq!(report["possibly_delivered"]["deferred"], 3, "{report}");
        assert!(events(&bench).values().all(|all| all.contains(&3)), "the journal has it");
    }
}

/// Offers STARTTLS and closes the connection at the handshake.
fn broken_tls(seen: &Seen) -> Option<Act> {
    match &*seen.verb {
        "EHLO" => Some(Act::Say("250-mx.test\r\n250-PIPELINING\r\n250 STARTTLS")),
        "STARTTLS" => Some(Act::SayAndClose("220 go")),
        _ => None,
    }
}

#[test]
fn mail_goes_to_the_server_whose_tls_works() {
    use Act::{Say, SayAndClose};
    for starttls in
        [SayAndClose("220 go"), Say("454 4.7.0 TLS not available"), Say("220 go\r\n220 on")]
    {
        let bench = Bench::new();
        let trouble = move |s: &Seen| match &*s.verb {
            "STARTTLS" => Some(starttls.clone()),
            _ => broken_tls(s),
        };
        let (bad, good) = (Server::start(trouble), Sink::start(&bench, "--tls"));
        bench.write("routes", &format!("* {} {}\n", bad.address, good.address));
        let how = "--route routes --recipients 1 --transactions 1 --per-domain 3";
        let report = deliver(&bench, 40, how).with(0).json();
        assert_eq!(report["delivered_encrypted"], 40, "{report}");
        assert_eq!(report["delivered_in_clear"], 0, "{report}");
        assert_eq!(bad.count("MAIL"), 0);
        assert_eq!(good.stop().recipients(), 40);
    }
}

#[test]
fn clear_text_is_a_repeated_failure_away_and_told() {
    let (said, server, _) = deliver_by(broken_tls, 10, "--transactions 1 --connections 1");
    let report = said.with(0).notes(&["clear text"]).json();
    assert_eq!(report["delivered_in_clear"], 10, "{report}");
    assert_eq!(report["delivered_encrypted"], 0, "{report}");
    assert_eq!(server.count("STARTTLS"), 2, "a repeated failure");
    // One failure is not enough: a later handshake is tried, and nothing is sent in clear text.
    let once = |s: &Seen| match &*s.verb {
        "STARTTLS" if s.connection > 0 => Some(Act::Say("454 not now")),
        _ => broken_tls(s),
    };
    let (said, server, _) = deliver_by(once, 1, &format!("--tls required {SHORT}"));
    said.with(1);
    assert_eq!(server.count("MAIL"), 0, "TLS is required");
}

#[test]
fn a_small_limit_of_descriptors_allows_one_connection() {
    let (bench, server) = (Bench::new(), Server::start(|_| None));
    write(&bench, 3, 1, SHARED);
    let mut command = send(&bench, &format!("--relay {} --loops 1", server.address));
    let said = finish(with_descriptors(&mut command, 40)).with(0);
    assert!(said.err.contains("allows 1 connection, not 1500"), "{}", said.err);
    assert_eq!(said.json()["connections_at_most"], 1, "{}", said.out);
}

/// RFC 5321, section 4.1.4: a client whose name is not known says its address; RFC 6531, section 3.7.1: names are ASCII.
#[test]
fn ehlo_has_an_ascii_name_or_an_address() {
    for (how, name) in [("--hello bücher.example", "xn--bcher-kva.example"), ("", "")] {
        let (said, server, _) = deliver_by(|_| None, 1, how);
        said.with(0);
        let seen = server.seen();
        let ehlo = seen.iter().find(|seen| seen.verb == "EHLO").expect("an EHLO");
        let said = ehlo.line.strip_prefix("EHLO ").expect("a name");
        let is_whole = said == "[127.0.0.1]" || said.contains('.');
        assert!(if name.is_empty() { is_whole } else { said == name }, "{said}");
    }
}
