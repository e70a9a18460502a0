//! `oscost mail` with invalid input: one line with the problem, its location and the remedy, and the exit code. 2: wrong usage;
//! 3: the delivery was not possible; 1: some recipients did not receive the message.

use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;

use crate::common::servers::{MESSAGE, Order, Sink, send};
use crate::common::smtp_server::Server;
use crate::common::{Bench, Said, free_port};

const LIST: &str = "email\nyou@x.test\n";
/// An address without a listener, for tests that must fail before they connect.
const NOWHERE: &str = "--relay 127.0.0.1:1";
/// The system's message for an address in use: localised on Windows, possibly empty under Wine.
const IN_USE: &str = if cfg!(windows) { "os error 10048" } else { "in use" };
/// Options for one retry.
const SOON: &str = "--retry-after 100ms --give-up 100ms";

/// The only reply to recipients, which has this outcome.
#[track_caller]
fn reply(said: &Said, outcome: &str) -> String {
    let document = said.json();
    let replies = document["replies"].as_array().expect("replies").clone();
    let [one] = &replies[..] else { panic!("not one reply: {replies:?}") };
    assert_eq!(one["outcome"], outcome, "{one}");
    one["reply"].as_str().expect("text").to_owned()
}

/// Further mistakes in lists and messages are those of the unit tests of `mailsend`.
#[test]
fn lists_that_are_none() {
    let bench = Bench::new();
    bench.folder("folder");
    for (list, words) in [
        ("email\n", &["has no recipients"][..]),
        (
            "name,town\nJo,Rome\n",
            &["no column named email", "\"name\", \"town\"", "--address-column"],
        ),
        (
            "email,name\na@b.test,A\nb@b.test\n",
            &["line 3", "the number of fields is 1, but that of columns is 2"],
        ),
    ] {
        let order = Order::new(&bench, list, MESSAGE);
        let said = bench.oscost(&order.command(NOWHERE)).with(2).complains(words);
        assert!(said.err.contains(&order.list) && said.out.is_empty(), "{said:?}");
        assert!(!bench.path(&format!("{}.journal", order.list)).exists(), "it has begun");
    }
    let latin = Order::new(&bench, "", MESSAGE);
    bench.write(&latin.list, b"email,name\na@b.test,J\xf6\n");
    bench.oscost(&latin.command(NOWHERE)).with(2).complains(&["line 2", "not UTF-8"]);
    let column = format!("{NOWHERE} --address-column town");
    send(&bench, LIST, MESSAGE, &column).with(2).complains(&["no column \"town\"", "\"email\""]);
    let missing = format!("mail send --list no.csv --message x --from a@b.test {NOWHERE}");
    bench.oscost(&missing).with(2).complains(&["no.csv", "cannot be read: "]);
    let folder = missing.replace("no.csv", "folder");
    bench.oscost(&folder).with(2).complains(&["folder"]);
}

#[test]
fn messages_that_are_none() {
    let bench = Bench::new();
    for (message, words) in [
        ("", &["no header", "Subject: Hello"][..]),
        (
            "Subject: Hi {nmae}\n\nHi\n",
            &["{nmae}", "Subject", "no such column", "email", "{{nmae}"],
        ),
    ] {
        let order = Order::new(&bench, LIST, message);
        let said = bench.oscost(&order.command(NOWHERE)).with(2).complains(words);
        assert!(said.err.contains(&order.message) && said.out.is_empty(), "{said:?}");
    }
    let missing = Order { message: "no.eml".into(), ..Order::new(&bench, LIST, MESSAGE) };
    bench.oscost(&missing.command(NOWHERE)).with(2).complains(&["--message no.eml"]);
}

#[test]
fn arguments_that_are_wrong() {
    let bench = Bench::new();
    bench.write("none.pem", "no certificate, no key");
    bench.write("routes", "x.test 127.0.0.1:2525\ny.test 127.0.0.1:x\n");
    bench.write("no-colon", "secret\n");
    for (arguments, words) in [
        ("--relay 127.0.0.1:0", &["127.0.0.1:0", "1 to 65535"][..]),
        ("--relay 127.0.0.1:99999", &["127.0.0.1:99999", "1 to 65535"]),
        ("--relay a_b..c:25", &["a_b..c:25", "no mail server", "HOST:PORT"]),
        ("--relay [::1", &["[::1", "no mail server"]),
        ("--relay :25", &[":25", "the name is missing"]),
        ("--route no.txt", &["no.txt"]),
        ("--route routes", &["routes:2", "127.0.0.1:x", "1 to 65535"]),
        ("--route routes --relay 127.0.0.1", &["--route", "--relay"]),
        ("--nameserver here", &["'here'", "not an IP address", "127.0.0.1:5300"]),
        ("--nameserver 127.0.0.1:0", &["127.0.0.1:0", "not an IP address"]),
        ("--from nobody", &["--from"]),
        ("--hello a..b", &["--hello a..b", "not a domain name"]),
        ("--tls required --ca no.pem", &["no.pem"]),
        ("--tls required --ca none.pem", &["none.pem", "no certificate"]),
        ("--auth-file no.txt", &["no.txt"]),
        ("--tls maybe", &["'maybe'", "offered"]),
        ("--arch fibres", &["'fibres'", "threads"]),
        ("--dry --really-send", &["--dry", "--really-send"]),
        ("--source 192.0.2.7", &["--source 192.0.2.7"]),
        ("--source here", &["'here'", "--source"]),
        ("--one-click", &["--list-unsubscribe"]),
        ("--list-unsubscribe x", &["angle brackets", "\"x\""]),
        ("--dkim-key none.pem", &["--dkim-selector"]),
        ("--dkim-key no.pem --dkim-selector s", &["no.pem", "cannot be read: "]),
        ("--dkim-key none.pem --dkim-selector s", &["none.pem", "openssl genrsa"]),
        ("--bind-cpu 99999", &["CPU 99999 is not available"]),
        ("--journal tmp", &["tmp", "it is a folder"]),
        ("--journal no/such/journal", &["no/such/journal", "cannot be written"]),
        ("--no-journal --resume", &["--no-journal", "--resume"]),
    ] {
        let is_whole =
            ["--relay", "--route ", "--nameserver"].iter().any(|it| arguments.starts_with(it));
        let arguments = format!("{} {arguments}", if is_whole { "" } else { NOWHERE });
        let said = send(&bench, LIST, MESSAGE, &arguments).with(2).complains(words);
        assert!(said.out.is_empty(), "{arguments}: {}", said.out);
    }
    let order = Order::new(&bench, LIST, MESSAGE).command(NOWHERE);
    let from = |from: &str| order.replace("me@sender.test", from);
    bench.oscost(&from("nobody")).with(2).complains(&["--from nobody", "no @"]);
    bench.oscost(&(from("<>") + " --verp")).with(2).complains(&["--verp", "not empty"]);
}

#[test]
fn numbers_that_are_none() {
    const HUGE: [&str; 4] =
        ["4294967296", "9223372036854775808", "18446744073709551615", "18446744073709551616"];
    let bench = Bench::new();
    let counts =
        ["connections", "per-domain", "recipients", "transactions", "loops"].map(|name| (name, ""));
    let times = ["timeout", "retry-after", "retry-at-most", "give-up"].map(|name| (name, "h"));
    let resting = [("port", ""), ("bind-cpu", "")];
    for (name, unit) in counts.into_iter().chain(times).chain(resting) {
        let relay = if name == "port" { "" } else { NOWHERE };
        let mut wrong = vec!["-1", "abc", "1.5", "0x10", ""];
        if name != "bind-cpu" {
            wrong.push("0");
        }
        for value in wrong {
            let arguments = format!("{relay} --{name}={value}");
            send(&bench, LIST, MESSAGE, &arguments).with(2).complains(&[name]).notes(&["--help"]);
        }
        for value in HUGE {
            let soon = SOON.replace(&format!("--{name} 100ms"), "");
            // Without a relay, name servers could be queried.
            if name == "port" {
                send(&bench, LIST, MESSAGE, &format!("--port={value}")).with(2).complains(&[name]);
                continue;
            }
            let arguments = format!("{NOWHERE} {soon} --no-journal --{name}={value}{unit}");
            let said = send(&bench, LIST, MESSAGE, &arguments);
            // Values up to the limits are accepted.
            let is_taken = matches!(name, "transactions") && value != HUGE[3];
            assert_eq!(said.code, Some(if is_taken { 1 } else { 2 }), "{arguments}: {}", said.err);
        }
    }
    for (arguments, words) in [
        ("--timeout 0s", &["--timeout", "no time at all"][..]),
        ("--give-up 721h", &["--give-up", "30 days"]),
        ("--timeout 5", &["'5'", "not a duration"]),
        ("--recipients 1001", &["at most 1000"]),
        ("--loops 1025", &["1 to 1024"]),
        ("--connections 1000001", &["1 to 1000000"]),
    ] {
        let arguments = format!("{NOWHERE} {arguments}");
        send(&bench, LIST, MESSAGE, &arguments).with(2).complains(words);
    }
}

#[test]
fn sinks_that_cannot_be() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("it is bound");
    let listen = format!("--listen {address}");
    bench.write("file", "");
    bench.refuses_with(
        "mail sink",
        &[
            (&listen, &[&address.to_string(), IN_USE]),
            ("--listen 192.0.2.1:2525", &["192.0.2.1:2525", "loopback", "--beyond-this-machine"]),
            ("--listen 192.0.2.1:2525 --beyond-this-machine", &["192.0.2.1:2525"]),
            ("--listen nowhere", &["nowhere", "127.0.0.1-200:2525"]),
            ("--listen 0.0.0.0:0", &["0.0.0.0:0", "--beyond-this-machine"]),
        ],
    );
    bench.refuses_with(
        "mail sink --listen 127.0.0.1:0",
        &[
            ("--write-ca ca.pem", &["--write-ca", "--tls"]),
            ("--tls-certificate a.pem", &["--tls-key"]),
            ("--tls-certificate no.pem --tls-key no.pem", &["no.pem", "certificate"]),
            ("--fault rcpt:5xx", &["rcpt:5xx", "PHASE:KIND:RATE"]),
            ("--fault rcpt:450:1", &["450", "4xx"]),
            ("--fault lunch:4xx:1%", &["lunch"]),
            ("--latency rcpt=soon", &["rcpt=soon", "10ms"]),
            ("--without speed", &["speed", "pipelining"]),
            ("--user me", &["NAME:PASSWORD"]),
            ("--log no/such/log", &["no/such/log"]),
            ("--capture file", &["file"]),
            ("--bind-cpu 99999", &["CPU 99999 is not available"]),
            ("--size 0", &["--size"]),
            ("--size -1", &["--size"]),
            ("--seed 18446744073709551616", &["--seed"]),
            ("--greylist 0s", &["--greylist"]),
            ("--window 99999999999", &["--window"]),
        ],
    );
}

#[test]
fn invalid_addresses_are_reported_with_their_lines_and_valid_ones_delivered() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "");
    let list = "email,name\n\
                jo@x.test,Jo\n\
                nobody,No\n\
                jo@x.test,Again\n\
                JO@X.TEST,not the same\n\
                @x.test,Empty\n\
                \"a b@x.test\",Space\n\
                me@192.0.2.1,Number\n\
                jo@bücher.example,Domain\n\
                jö@x.test,Name\n\
                ,None\n";
    let order = Order::new(&bench, list, MESSAGE);
    let command = order.command(&format!("--relay {} --json", sink.address));
    let said = bench.oscost(&command).with(1);
    let said = said.notes(&[
        "line 3: invalid address: there is no @",
        "line 6: invalid address: there is nothing before the @",
        "line 7: invalid address: the part before the @ has the character ' '",
        "line 8: invalid address: the domain ends in a number",
        "line 11: invalid address: there is no address",
        "1 duplicate in the list",
    ]);
    let document = said.json();
    assert_eq!((&document["bad_addresses"], &document["failed"]), (&5.into(), &5.into()));
    assert_eq!((&document["delivered"], &document["duplicates"]), (&4.into(), &1.into()));
    let mut to: Vec<Value> =
        sink.messages().iter().map(|one| one.envelope["to"][0].clone()).collect();
    to.sort_by_key(Value::to_string);
    assert_eq!(to, ["JO@x.test", "jo@x.test", "jo@xn--bcher-kva.example", "jö@x.test"]);
    let replies = document["replies"].as_array().expect("replies");
    let text = "the part before the @ has the character ' ', which is not allowed there";
    assert!(replies.iter().any(|reply| reply["reply"] == text), "{replies:?}");
    let again = bench.oscost(&format!("{command} --resume")).with(1).json();
    assert_eq!(again["replies"], document["replies"], "the earlier replies are reported again");
}

#[test]
fn more_wrong_addresses_than_anybody_would_read_are_counted() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "");
    let list = format!("email\njo@x.test\n{}", "nobody\n".repeat(1_000));
    let said = sink.send(&bench, &list, MESSAGE, "").with(1);
    assert_eq!(said.err.lines().count(), 12, "{}", said.err);
    assert!(said.err.contains("line 3: ") && said.err.ends_with("and 990 more\n"), "{said:?}");
    assert!(said.out.contains("1,000      99.9  1000 with an invalid address"), "{}", said.out);
}

#[test]
fn international_addresses_need_a_server_that_takes_them() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "--without smtputf8");
    let list = "email\njö@bücher.example\njo@bücher.example\njo@faß.example\n";
    // Routes may be written in either form.
    let routes = format!("bücher.example {0}\nxn--fa-hia.example {0}\n", sink.address);
    bench.write("routes", &routes);
    let said = send(&bench, list, MESSAGE, "--route routes --json").with(1);
    assert_eq!(said.json()["delivered"], 2, "{said:?}");
    let replies = said.json()["replies"].to_string();
    assert!(replies.contains("beyond ASCII, and the server has no SMTPUTF8"), "{replies}");
    let to: Vec<String> =
        sink.messages().iter().map(|one| one.envelope["to"][0].to_string()).collect();
    assert!(to.contains(&"\"jo@xn--bcher-kva.example\"".into()), "{to:?}");
    assert!(to.contains(&"\"jo@xn--fa-hia.example\"".into()), "{to:?}");
}

#[test]
fn too_large_messages_are_reported_with_both_sizes() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "--size 1000");
    let message = format!(
        "From: me@sender.test\nSubject: x\nDate: x\nMessage-ID: <x@x>\n\n{}",
        "x\n".repeat(2_000)
    );
    let said = sink.send(&bench, LIST, message, "--json").with(1);
    let size = 6_000 + "From: me@sender.test..Subject: x..Date: x..Message-ID: <x@x>....".len();
    let wanted = format!("the message has {size} bytes, the server takes 1000");
    assert_eq!(reply(&said, "failed"), wanted);
    assert!(sink.messages().is_empty());
}

#[test]
fn closed_ports_are_tried_until_it_is_enough() {
    let bench = Bench::new();
    let address = free_port();
    for how in ["loop", "poll", "threads"] {
        let arguments = format!("--relay {address} {SOON} --json --arch {how}");
        let said = send(&bench, LIST, MESSAGE, &arguments).with(1);
        let reply = reply(&said, "deferred");
        assert!(reply.starts_with(&format!("{address}: ")), "{reply}");
        #[cfg(unix)]
        assert!(reply.contains("refused"), "{reply}");
        assert!(said.json()["connections_failed"].as_u64() >= Some(2), "{said:?}");
    }
}

/// Creates a certificate for these names and its key in the bench, valid until that year.
fn certify(bench: &Bench, name: &str, of: &str, until: i32) {
    let mut params = rcgen::CertificateParams::new([of.to_owned()]).expect("a name");
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    bench.write(&format!("{name}.pem"), &certificate.pem());
    bench.write(&format!("{name}.key"), &key.serialize_pem());
}

#[test]
fn servers_whose_tls_is_not_as_required_get_nothing() {
    let bench = Bench::new();
    for (name, of, until) in
        [("good", "127.0.0.1", 4000), ("expired", "127.0.0.1", 2001), ("other", "mx.test", 4000)]
    {
        certify(&bench, name, of, until);
    }
    for (server, ca, words) in [
        ("", "--ca good.pem", "TLS is required, and the server offers none"),
        ("good", "", "the server's certificate is not trusted"),
        ("good", "--ca other.pem", "the server's certificate is not trusted"),
        ("other", "--ca other.pem", "not valid for name \"127.0.0.1\""),
        ("expired", "--ca expired.pem", "expired"),
    ] {
        let shown = format!("--tls-certificate {server}.pem --tls-key {server}.key");
        let sink = Sink::start(&bench, if server.is_empty() { "" } else { &shown });
        let said =
            sink.send(&bench, LIST, MESSAGE, &format!("--tls required {ca} {SOON} --json")).with(1);
        let reply = reply(&said, "deferred");
        assert!(reply.contains(words), "{server} {ca}: {reply}");
        assert!(sink.messages().is_empty(), "{server} {ca}");
    }
    let sink = Sink::start(&bench, "--tls-certificate good.pem --tls-key good.key");
    sink.send(&bench, LIST, MESSAGE, "--tls required --ca good.pem").with(0);
    assert_eq!(sink.message().envelope["tls"], true);
    let refuses =
        Server::replying(&[("EHLO", "250-fake\r\n250 STARTTLS"), ("STARTTLS", "454 not now")]);
    let arguments =
        format!("--relay {} --tls required --ca good.pem {SOON} --json", refuses.address);
    let said = send(&bench, LIST, MESSAGE, &arguments).with(1);
    assert!(reply(&said, "deferred").contains("TLS is required: 454 not now"), "{said:?}");
}

#[test]
fn wrong_password_ends_it_at_once() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "--tls --user me:right --write-ca ca.pem");
    secret_file(&bench.write("auth", "me:guessed\n"));
    let tls = "--auth-file auth --tls required --ca ca.pem";
    for how in ["loop", "threads"] {
        // These options let any other failure be retried for hours.
        let said = sink.send(&bench, LIST, MESSAGE, &format!("{tls} --arch {how}")).with(3);
        let last = "oscost: 127.0.0.1 rejected the login: 535 5.7.8 name or password wrong";
        assert_eq!(said.err.lines().last(), Some(last), "{how}");
    }
    bench.write("auth", "me:right\n");
    sink.send(&bench, LIST, MESSAGE, tls).with(0);
    assert_eq!(sink.messages().len(), 1);
}

#[cfg(unix)]
fn secret_file(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("our own file");
}

#[cfg(not(unix))]
fn secret_file(_path: &Path) {}

#[test]
fn password_files_are_checked() {
    let bench = Bench::new();
    let arguments = format!("{NOWHERE} --auth-file auth");
    for (content, words) in [
        ("secret\n", &["auth", "no colon", "user:password"][..]),
        ("", &["auth", "user:password"]),
        (":secret\n", &["auth", "empty"]),
        ("me:secret\nme:secret\n", &["auth", "more than one line"]),
    ] {
        secret_file(&bench.write("auth", content));
        let said = send(&bench, LIST, MESSAGE, &arguments).with(2).complains(words);
        assert!(!said.err.contains("secret"), "{}", said.err);
    }
    secret_file(&bench.write("auth", "me:secret\n"));
    let off = send(&bench, LIST, MESSAGE, &format!("{arguments} --tls off")).with(2);
    off.complains(&["--tls off", "over TLS only"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(bench.path("auth"), open).expect("our own file");
        let words = ["auth", "can be read by all users", "chmod o= auth"];
        send(&bench, LIST, MESSAGE, &arguments).with(2).complains(&words);
    }
}

#[test]
fn journals_that_do_not_fit() {
    let bench = Bench::new();
    let sink = Sink::start(&bench, "");
    let order = Order::new(&bench, LIST, MESSAGE);
    let relay = format!("--relay {}", sink.address);
    let command = order.command(&relay);
    let resume = order.command(&format!("{relay} --resume"));
    bench.oscost(&resume).with(2).complains(&["does not exist", "omit --resume"]);
    bench.oscost(&command).with(0);
    bench.oscost(&command).with(2).complains(&["already exists", "--resume", "--journal"]);
    // The delivery is complete: no recipient receives the message again.
    bench.oscost(&resume).with(0);
    assert_eq!(sink.messages().len(), 1);
    let dry = bench.oscost(&format!("{resume} --dry"));
    dry.with(2).complains(&["another delivery", "`send`, not `test`", "--dry"]);
    let other = resume.replace("me@sender.test", "you@sender.test");
    bench.oscost(&other).with(2).complains(&["another delivery", "me@sender.test"]);
    bench.write(&order.message, &format!("{MESSAGE}more\n"));
    bench.oscost(&resume).with(2).complains(&["another delivery", "the message"]);
    bench.write(&order.message, MESSAGE);
    bench.write(&order.list, &format!("{LIST}two@x.test\n"));
    bench.oscost(&resume).with(2).complains(&["another delivery", "the list has changed"]);
    bench.write("text", &"no journal at all ".repeat(1_000));
    bench.write("empty", "");
    for (journal, message) in [
        ("--resume --journal text", "text is not the journal of a delivery"),
        ("--resume --journal empty", "empty is not the journal of a delivery"),
        ("--journal text", "text already exists"),
    ] {
        let command = order.command(&format!("{relay} {journal}"));
        bench.oscost(&command).with(2).complains(&[message]);
    }
    assert_eq!(sink.messages().len(), 1);
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::common::linux::as_nobody;
    use crate::common::{finish, needs, skip_unless};

    #[test]
    fn folders_where_nothing_can_be_written_end_it_before_it_begins() {
        skip_unless!(needs::root("to be a user without rights"));
        let bench = Bench::new();
        let sink = Sink::start(&bench, "");
        bench.open_to_all();
        bench.folder("closed");
        let order = Order::new(&bench, LIST, MESSAGE);
        let command = order.command(&format!("--relay {} --journal closed/journal", sink.address));
        let said = finish(as_nobody(&mut bench.command(&command)));
        said.with(2).complains(&["closed/journal", "cannot be written", "Permission denied"]);
        assert!(sink.messages().is_empty());
    }
}
