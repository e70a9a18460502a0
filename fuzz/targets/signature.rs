//! DKIM signatures of any message: each can be verified, and no change of it can (RFC 6376, relaxed).
#![no_main]

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use oscost_fuzz::message::Signer;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use smtp::data::to_wire;

/// A signer with a fixed key, and the public half.
static KEY: LazyLock<(Signer, Vec<u8>)> = LazyLock::new(|| {
    // A key of RFC 8410: version, algorithm, and the seed.
    let mut der = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    der.extend([7; 32]);
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).expect("a key");
    let file = std::env::temp_dir().join(format!("oscost-fuzz-{}.pem", std::process::id()));
    let text = BASE64_STANDARD.encode(&der);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    std::fs::write(&file, pem).expect("a temporary file");
    let signer = Signer::from_file(&file, "x.test", "s").expect("a signer");
    std::fs::remove_file(&file).expect("it is there");
    (signer, pair.public_key().as_ref().to_vec())
});

/// Runs of white space as one space, and none at the ends.
fn reduced(text: &[u8], is_space: impl Fn(&u8) -> bool) -> Vec<u8> {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

fn relaxed(field: &[u8]) -> Vec<u8> {
    let colon = field.iter().position(|byte| *byte == b':').expect("a field");
    let name = field[..colon].trim_ascii_end().to_ascii_lowercase();
    let value = reduced(&field[colon + 1..], |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    [&name[..], b":", &value].concat()
}

fn relaxed_body(body: &[u8]) -> Vec<u8> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in String::from_utf8_lossy(body).split("\r\n") {
        let begins = line.starts_with([' ', '\t']) && !line.trim_matches([' ', '\t']).is_empty();
        let text = reduced(line.as_bytes(), is_space);
        lines.push([if begins { &b" "[..] } else { b"" }, &text].concat());
    }
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines.into_iter().flat_map(|line| [line, b"\r\n".to_vec()].concat()).collect()
}

/// The fields of a header, each with its last line end.
fn fields(header: &[u8]) -> Vec<Vec<u8>> {
    let mut fields: Vec<Vec<u8>> = Vec::new();
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        match fields.last_mut() {
            Some(last) if matches!(line[0], b' ' | b'\t') => last.extend(line),
            _ => fields.push(line.to_vec()),
        }
    }
    fields.retain(|field| field.contains(&b':'));
    fields
}

fn tag<'t>(field: &'t str, name: &str) -> &'t str {
    let mut tags = field.split(';').filter_map(|tag| tag.trim().split_once('='));
    tags.find(|(found, _)| *found == name).expect("a tag").1
}

fn is_good(signature: &str, header: &[u8], body: &[u8], public: &[u8]) -> bool {
    let plain = |text: &str| text.replace(['\r', '\n', '\t', ' '], "");
    let hash = BASE64_STANDARD.encode(digest(&SHA256, &relaxed_body(body)));
    let mut left = fields(header);
    let mut signed = Vec::new();
    for name in plain(tag(signature, "h")).split(':') {
        let is_it = |field: &Vec<u8>| {
            let colon = field.iter().position(|byte| *byte == b':').expect("a field");
            field[..colon].trim_ascii_end().eq_ignore_ascii_case(name.as_bytes())
        };
        if let Some(at) = left.iter().rposition(is_it) {
            signed.extend(relaxed(&left.remove(at)));
            signed.extend(b"\r\n");
        }
    }
    let end = signature.rfind("b=").expect("a signature") + 2;
    signed.extend(relaxed(signature[..end].as_bytes()));
    let value = BASE64_STANDARD.decode(plain(&signature[end..])).expect("base64");
    let key = UnparsedPublicKey::new(&ED25519, public);
    plain(tag(signature, "bh")) == hash
        && key.verify(digest(&SHA256, &signed).as_ref(), &value).is_ok()
}

fuzz_target!(|text: &str| {
    let (signer, public) = &*KEY;
    let wire = to_wire(text.as_bytes());
    let begins = [b"\r\n", &wire[..]].concat();
    let end = memchr::memmem::find(&begins, b"\r\n\r\n").unwrap_or(wire.len());
    let (header, body) = (&wire[..end], wire.get(end + 2..).unwrap_or_default());
    let Ok(signature) = signer.sign(&wire) else {
        assert!(!fields(header).iter().any(|field| relaxed(field).starts_with(b"from:")));
        return;
    };
    assert!(signature.ends_with("\r\n") && signature.is_ascii());
    assert_eq!(fields(signature.as_bytes()).len(), 1);
    assert!(signature.lines().all(|line| line.len() <= 78 && !line.trim().is_empty()));
    assert!(is_good(&signature, header, body, public), "{signature}");
    let other = [body, b"x\r\n"].concat();
    assert!(!is_good(&signature, header, &other, public));
    // A further field with the value of the last one changes nothing of what is signed.
    let other = [header, b"Subject: added\r\n"].concat();
    assert!(text.contains("added") || !is_good(&signature, &other, body, public));
});
