//! A message, and what a list says of its recipient: values after the message, with a NUL before each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_fuzz::list::Recipient;
use oscost_fuzz::message::{Heads, Seed, Template};
use smtp::address::Address;
use smtp::data::{stuffed, to_wire};

fn names(wire: &[u8]) -> Vec<&[u8]> {
    let header = wire.split_inclusive(|b| *b == b'\n').take_while(|line| *line != b"\r\n");
    let begins = header.filter(|line| !matches!(line[0], b' ' | b'\t'));
    begins.map(|line| line.split(|b| *b == b':').next().expect("a name")).collect()
}

fn rendered(template: &Template, values: &[&str]) -> Vec<u8> {
    let recipient = Recipient {
        number: 0,
        line: 1,
        address: Address::parse("jo@x.test").expect("it is one"),
        values: values.to_vec().into(),
    };
    let seed = Seed { run: "r", number: 7, date: "Thu, 01 Jan 2026 00:00:00 +0000" };
    let mut wire = Vec::new();
    template.render(Some(&recipient), seed, &mut wire);
    wire
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.split(|b| *b == 0);
    let raw = parts.next().unwrap_or_default();
    let values: Vec<_> = parts.take(3).map(String::from_utf8_lossy).collect();
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    let columns = ["a", "b", "c d"].map(str::to_owned);
    let heads = Heads {
        message_id_domain: "x.test".into(),
        list_unsubscribe: data
            .len()
            .is_multiple_of(2)
            .then(|| "<https://x.test/{a}?{b}>".to_owned()),
        one_click: data.len().is_multiple_of(4),
    };
    let Ok(template) = Template::parse(raw, &columns, &heads) else { return };
    let wire = rendered(&template, &values);
    assert_eq!(to_wire(&wire), wire);
    assert_eq!(names(&wire), names(&rendered(&template, &["", "", ""])));
    let mut data = Vec::new();
    stuffed(&wire, &mut data);
    assert!(memchr::memmem::find(&data[..data.len() - 1], b"\r\n.\r\n").is_none());
    if !template.is_personal() {
        assert_eq!(wire, rendered(&template, &["x", "y", "z"]));
    }
});
