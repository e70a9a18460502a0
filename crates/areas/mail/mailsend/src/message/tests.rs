use std::io::Write;

use mail_parser::MessageParser;
use proptest::prelude::*;

use super::*;
use crate::list::List;
use smtp::data::stuffed;

fn heads() -> Heads {
    Heads { message_id_domain: "example.org".into(), ..Heads::default() }
}

const SEED: Seed<'_> = Seed { run: "run7", number: 3, date: "Thu, 01 Jan 2026 00:00:00 +0000" };

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A recipient of a list whose columns are `email` and then `fields`.
fn recipient(address: &str, fields: &[&str]) -> Recipient {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let values: Vec<&str> = [address].into_iter().chain(fields.iter().copied()).collect();
    let names: Vec<String> = (0..fields.len()).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = ["email"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut csv = csv::Writer::from_writer(&mut file);
    csv.write_record(names).unwrap();
    csv.write_record(values).unwrap();
    csv.flush().unwrap();
    drop(csv);
    file.flush().unwrap();
    List::open(file.path(), None).unwrap().record(0).unwrap()
}

fn template(raw: &str, names: &[&str]) -> Template {
    Template::parse(raw.as_bytes(), &columns(names), &heads()).unwrap_or_else(|e| panic!("{e}"))
}

fn render(raw: &str, names: &[&str], to: &Recipient) -> String {
    let mut into = Vec::new();
    template(raw, names).render(Some(to), SEED, &mut into);
    String::from_utf8(into).unwrap()
}

fn fault(raw: &str, heads: &Heads) -> String {
    Template::parse(raw.as_bytes(), &columns(&["email", "name"]), heads).unwrap_err().to_string()
}

#[test]
fn lines_beyond_the_limit_are_noted() {
    // RFC 5322, section 2.1.1: a line has at most 998 octets, without its end.
    let raw = |octets: usize| format!("From: a@b.test\n\nx\n{}\n", "y".repeat(octets));
    assert!(template(&raw(998), &["email"]).notes().is_empty());
    for octets in [999, 5_000] {
        let made = template(&raw(octets), &["email"]);
        let note = &made.notes()[0];
        assert!(note.starts_with(&format!("line 4 has {octets} octets")), "{note}");
        assert!(note.contains("quoted-printable"), "{note}");
    }
    let header = format!("From: a@b.test\nX: {}\n\nx\n", "y".repeat(1_200));
    assert!(template(&header, &["email"]).notes()[0].starts_with("line 2 has 1203 octets"));
    let nul = template("From: a@b.test\n\nx\ny\0\n", &["email"]);
    assert!(nul.notes()[0].starts_with("line 4 has a NUL octet"), "{:?}", nul.notes());
    // A value makes the line long.
    let made = template("From: a@b.test\n\nDear {c0}\n", &["email", "c0"]);
    assert!(made.notes().is_empty());
    assert_eq!(made.note_for(&recipient("jo@x.test", &[&"n".repeat(993)])), None);
    let note = made.note_for(&recipient("jo@x.test", &[&"n".repeat(994)])).unwrap();
    assert!(note.contains("line 2 of the list") && note.contains("has 999 octets"), "{note}");
}

#[test]
fn a_message_for_all_is_completed_only() {
    let raw = "Return-Path: <x@y>\nFrom: a@b.test\nBcc: c@d.test,\n e@f.test\nSubject: Hi\n there\n\n.body\n";
    let made = template(raw, &["email"]);
    assert!(!made.is_personal() && made.notes().is_empty());
    let mut into = Vec::new();
    made.render(None, SEED, &mut into);
    assert_eq!(
        String::from_utf8(into).unwrap(),
        "From: a@b.test\r\nSubject: Hi\r\n there\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\n\
         Message-ID: <run7@example.org>\r\n\r\n.body\r\n"
    );
    let own = "From: a@b\r\nDate: Fri, 2 Jan 2026 00:00:00 +0000\r\nMessage-Id: <x@y>\r\n\r\n";
    let mut into = Vec::new();
    template(own, &[]).render(None, SEED, &mut into);
    assert_eq!(String::from_utf8(into).unwrap(), own);
    assert_eq!(date(jiff::Timestamp::UNIX_EPOCH).unwrap(), "Thu, 1 Jan 1970 00:00:00 +0000");
}

#[test]
fn fields_are_filled_in() {
    let to = recipient("jo@x.test", &["Jo", "x\ny"]);
    let raw = "From: a@b.test\nMessage-ID: <own@x>\nTo: {first_name} <{email}>\nSubject: Hi {First Name}\n\n\
               Dear {FIRST_NAME} at {address},\n{{First Name} {a: 1} {} {1} { x } {2}\n{note}";
    let made = render(raw, &["email", "First Name", "note"], &to);
    let (header, body) = made.split_once("\r\n\r\n").unwrap();
    assert!(header.contains("\r\nTo: Jo <jo@x.test>\r\nSubject: Hi Jo\r\n"), "{made}");
    assert!(header.contains("Message-ID: <run7.3@example.org>") && !header.contains("own"));
    assert_eq!(body, "Dear Jo at jo@x.test,\r\n{First Name} {a: 1} {} {1} { x } {2}\r\nx\r\ny\r\n");
    let made = render("From: a@b\n\n{1} {2} {3}", &["1", "2"], &to);
    assert!(made.ends_with("\r\n\r\njo@x.test Jo {3}\r\n"), "{made}");
}

#[test]
fn says_what_is_wrong_with_a_message() {
    for raw in ["", "\nFrom: a@b\n\nx", "no header\n\nx", " x: y\n\n", "From jo Mon\nFrom: a\n\n"] {
        assert!(fault(raw, &heads()).contains("has no header"), "{raw:?}");
    }
    assert!(fault("From: a\nhello you\n\n", &heads()).contains("line 2 of the message's header"));
    let unknown = fault("From: a\n\nx {nmae}", &heads());
    assert!(unknown.contains("{nmae}") && unknown.contains("email, name"), "{unknown}");
    assert!(unknown.contains("the body, from line 3") && unknown.contains("{{nmae}"), "{unknown}");
    assert!(fault("Subject: {x}\n\n", &heads()).contains("Subject of the header"));
    let one_click = Heads { one_click: true, ..heads() };
    assert!(fault("From: a\n\n", &one_click).contains("https"));
    let mailto = Some("<mailto:u@x.test>".to_owned());
    assert!(
        fault("From: a\n\n", &Heads { list_unsubscribe: mailto, ..one_click }).contains("https")
    );
    let bare = Some("https://x.test".to_owned());
    assert!(
        fault("From: a\n\n", &Heads { list_unsubscribe: bare, ..heads() }).contains("brackets")
    );
    assert!(fault("From: a\n\n", &Heads::default()).contains("domain of Message-IDs"));
    let latin = Template::parse(b"Subject: {name} \xfc\n\n", &columns(&["name"]), &heads());
    assert_eq!(latin.unwrap_err(), TemplateError::Encoding { name: "Subject".into() });
    assert_eq!(template("Subject: x\n\n", &[]).notes().len(), 1);
}

#[test]
fn unsubscribing_is_told_in_the_header() {
    let heads = Heads {
        list_unsubscribe: Some("<https://x.test/u?{id}>, <mailto:u+{id}@x.test>".into()),
        one_click: true,
        ..heads()
    };
    let raw = b"From: a@b\nList-Unsubscribe: <https://old>\nList-Unsubscribe-Post: x\n\n";
    let made = Template::parse(raw, &columns(&["email", "id"]), &heads).unwrap();
    assert!(made.is_personal());
    let mut into = Vec::new();
    made.render(Some(&recipient("jo@x.test", &["a b>\r\nX: ü"])), SEED, &mut into);
    let made = String::from_utf8(into).unwrap();
    let id = "a%20b%3E%0D%0AX%3A%20%C3%BC";
    let value = format!("List-Unsubscribe: <https://x.test/u?{id}>, <mailto:u+{id}@x.test>\r\n");
    assert!(made.contains(&value), "{made}");
    assert!(made.contains("\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"));
    assert_eq!(made.matches("List-Unsubscribe:").count(), 1);
    assert!(!made.contains("old"));
}

#[test]
fn only_text_that_is_not_encoded_is_filled_in() {
    let raw = "From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/alternative;\n boundary=\"b c\"\n\n{email}\n\
               --b c\nContent-Type: text/plain\nX-Part: {email}\n\nplain {email}\n\
               --b c\nContent-Type: Text/HTML; charset=utf-8\n\n<p title={email}>{x: y}</p>\n\
               --b c\nContent-Transfer-Encoding: quoted-printable\n\nqp {email} {unknown}\n\
               --b c\nContent-Type: multipart/mixed; boundary=in\n\n--in\nContent-Type: application/json\n\n{email}\n\
               --in\n\ninner {email}\n--in--\n{email}\n--b c--\n{email}\n";
    let made = template(raw, &["email"]);
    assert_eq!(made.notes().len(), 3, "{:?}", made.notes());
    let mut into = Vec::new();
    made.render(Some(&recipient("\"<&>\"@x.test", &[])), SEED, &mut into);
    let body = String::from_utf8(into).unwrap().split_once("\r\n\r\n").unwrap().1.to_owned();
    let expected =
        raw.split_once("\n\n").unwrap().1.replace("plain {email}", "plain \"<&>\"@x.test");
    let expected = expected
        .replace("title={email}", "title=&quot;&lt;&amp;&gt;&quot;@x.test")
        .replace("inner {email}", "inner \"<&>\"@x.test")
        .replace('\n', "\r\n");
    assert_eq!(body, expected);
    let encoded = "From: a@b\nContent-Transfer-Encoding: Base64\n\ne2VtYWlsfQ==\n{email}\n";
    assert!(!template(encoded, &["email"]).is_personal());
}

#[test]
fn values_are_what_they_stand_for_in_a_header() {
    let line = |header: &str, name: &str| {
        let to = recipient("jo@x.test", &[name]);
        let made = render(&format!("From: a@b\n{header}\n\n"), &["email", "name"], &to);
        made.strip_prefix("From: a@b\r\n").unwrap().split("\r\nDate: ").next().unwrap().to_owned()
    };
    assert_eq!(line("To: \"{name}\" <{email}>", "Smith, Jo"), "To: \"Smith, Jo\" <jo@x.test>");
    assert_eq!(line("To: {name} <{email}>", "jo@y.test"), "To: \"jo@y.test\" <jo@x.test>");
    assert_eq!(line("To: {name} <{email}>", ""), "To: <jo@x.test>");
    assert_eq!(line("To: {email}", ""), "To: jo@x.test");
    assert_eq!(line("Cc: \"A, B\" <a@b>, {email}", ""), "Cc: \"A, B\" <a@b>, jo@x.test");
    assert_eq!(
        line("To: \"Dr. {name}\" <{email}>", "Jö"),
        "To: =?UTF-8?B?RHIuIErDtg==?= <jo@x.test>"
    );
    assert_eq!(line("Reply-To: <{name}>", "x@y>, <z@y"), "Reply-To: <x@yz@y>");
    assert_eq!(line("Reply-To: {name}", "x, y@z\r\nBcc: q@r"), "Reply-To: xy@zBccq@r");
    assert_eq!(line("Subject: {name}!", "a\r\nBcc: b"), "Subject: a  Bcc: b!");
    assert_eq!(line("Subject: Grüße", ""), "Subject: =?UTF-8?B?R3LDvMOfZQ==?=");
    assert_eq!(line("X: {name}", "=?utf-8?q?=0A?="), "X: =?UTF-8?B?PT91dGYtOD9xPz0wQT89?=");
    assert_eq!(line("X: =ü{name}", "?"), "X: =?UTF-8?B?PcO8Pw==?=");
    assert_eq!(line("X: {{name}", ""), "X: {name}");
}

/// Lines of a header, unfolded: name and value.
fn fields_of(header: &str) -> Vec<(String, String)> {
    let unfolded = header.replace("\r\n ", " ").replace("\r\n\t", "\t");
    let pair = |line: &str| line.split_once(':').map(|(n, v)| (n.to_owned(), v.trim().to_owned()));
    unfolded.split("\r\n").map(|line| pair(line).expect("a field")).collect()
}

/// The message that a server gets from the data after DATA.
fn unstuffed(data: &[u8]) -> Vec<u8> {
    let data = data.strip_suffix(b"\r\n.\r\n").expect("an end");
    let lines = String::from_utf8_lossy(data).replace("\r\n.", "\r\n");
    let lines = lines.strip_prefix('.').unwrap_or(&lines);
    [lines.as_bytes(), b"\r\n"].concat()
}

fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z .\r\n]{0,40}", "[ -z\r\n\t\u{0}\u{85}üß日}]{0,40}", any::<String>()]
        .prop_map(|text| text.replace('{', "("))
}

const HEADER: &str = "From: a@b.test\nTo: \"x {c0}\" <{email}>\nSubject: Hi {c0} {c1}\nX-Bare: {c1}\n\
                      Cc: {c0}, {c1}\nReply-To: <{c1}>\nList-Id: <{c0}>\nContent-Language: {c0}{c1}\n";
const NAMES: [&str; 10] = [
    "From",
    "To",
    "Subject",
    "X-Bare",
    "Cc",
    "Reply-To",
    "List-Id",
    "Content-Language",
    "Date",
    "Message-ID",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_a_list_says_reaches_the_server_as_one_message(
        c0 in any_text(), c1 in any_text(), before in any_text(), between in any_text(), after in any_text(),
    ) {
        let to = recipient("jo@x.test", &[&c0, &c1]);
        let raw = format!("{HEADER}\n{before}{{c0}}{between}{{c1}}{after}");
        let made = template(&raw, &["email", "c0", "c1"]);
        let mut wire = Vec::new();
        made.render(Some(&to), SEED, &mut wire);
        let mut again = Vec::new();
        made.render(Some(&to), SEED, &mut again);
        prop_assert_eq!(&wire, &again);
        prop_assert_eq!(&to_wire(&wire), &wire);
        let mut data = Vec::new();
        stuffed(&wire, &mut data);
        prop_assert_eq!(unstuffed(&data), wire.clone());

        let text = String::from_utf8(wire.clone()).unwrap();
        let (header, body) = text.split_once("\r\n\r\n").unwrap();
        let parts = [&before, &c0, &between, &c1, &after].map(|part| crlf(part)).concat();
        let end = if after.ends_with(['\r', '\n']) { "" } else { "\r\n" };
        prop_assert_eq!(body, format!("{parts}{end}"));
        let names: Vec<String> = fields_of(header).into_iter().map(|(name, _)| name).collect();
        prop_assert_eq!(names, NAMES);
        prop_assert!(!header.replace("\r\n", "").contains(char::is_control));
        for (name, value) in fields_of(header) {
            // An address may need SMTPUTF8.
            prop_assert!(value.is_ascii() || matches!(&*name, "Cc" | "Reply-To"), "{}: {}", name, value);
        }
        prop_assert!(header.split("\r\n").all(|line| line.len() <= 998 && !line.trim().is_empty()));
    }

    #[test]
    fn what_mail_programs_show_is_what_the_list_says(name in "[ -~üß日é]{0,60}", word in "[!-~ü]{1,30}") {
        let to = recipient("jo@x.test", &[&name, &word]);
        let made = render(&format!("{HEADER}\n"), &["email", "c0", "c1"], &to);
        let read = MessageParser::default().parse(made.as_bytes()).unwrap();
        let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(spaced(read.subject().unwrap()), spaced(&format!("Hi {name} {word}")));
        let shown = read.to().unwrap().first().unwrap();
        prop_assert_eq!(shown.address(), Some("jo@x.test"));
        prop_assert_eq!(spaced(shown.name().unwrap()), spaced(&format!("x {name}")));
    }

    #[test]
    fn any_message_is_taken_or_refused(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        let header = [&b"From: a@b\nX:"[..], &raw].concat();
        for raw in [raw, header] {
            if let Ok(made) = Template::parse(&raw, &columns(&["email"]), &heads()) {
                let mut wire = Vec::new();
                made.render(None, SEED, &mut wire);
                prop_assert_eq!(to_wire(&wire), wire);
            }
        }
    }
}
