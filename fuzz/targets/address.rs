//! Addresses come from lists that others fill, and go into commands.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::address::{ADDRESS_OCTETS, Address, verp};

fuzz_target!(|text: &str| {
    let Ok(address) = Address::parse(text) else { return };
    let wire = address.to_string();
    assert_eq!(Address::parse(&wire).as_ref(), Ok(&address));
    assert!(wire.len() <= ADDRESS_OCTETS && !wire.contains(char::is_control));
    assert!(address.domain().bytes().all(|b| b.is_ascii_graphic() && b != b'<' && b != b'>'));
    if !address.local().starts_with('"') {
        assert!(!address.local().contains(|c: char| c.is_whitespace() || c == '<' || c == '>'));
    }
    let from = Address::parse("bounce@example.org").expect("it is one");
    if let Ok(bounce) = verp(&from, &address) {
        assert!(!bounce.local().contains(['"', ' ', '<', '>']));
        assert_eq!(bounce.domain(), "example.org");
    }
});
