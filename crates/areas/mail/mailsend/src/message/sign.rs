//! DKIM signatures (RFC 6376, RFC 8463), relaxed for header and body.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;

use smtp::address::{Address, AddressError};
use smtp::data::without_mark;

/// Maximum octets of a key's file: a key of 8,192 bits has 7,000.
const KEY_OCTETS: u64 = 64 << 10;
/// The signed fields (RFC 6376 5.4.1). Absent ones are signed too, so that they cannot be added; fields that mailing lists
/// add are not signed.
const SIGNED: [&str; 14] = [
    "From",
    "To",
    "Cc",
    "Reply-To",
    "Subject",
    "Date",
    "Message-ID",
    "In-Reply-To",
    "References",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
];

/// Maximum characters of a line of the signature's field.
const LINE: usize = 76;

/// Signs messages with one key in the name of one domain. Threads may share a signer.
pub struct Signer {
    key: Key,
    domain: String,
    selector: String,
}

enum Key {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// The reason why no message can be signed.
#[derive(Debug, Error)]
pub enum SignError {
    /// The key's file cannot be read.
    #[error("the DKIM key {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file has no usable key.
    #[error(
        "{} is no DKIM key: {why}. It must be a private key in PEM form, RSA (2,048 bits or more) or Ed25519, without a \
         password, as from `openssl genrsa 2048`",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// The signature's domain is invalid.
    #[error("{domain:?} cannot be the domain of a DKIM signature: {source}")]
    Domain {
        /// The given domain.
        domain: String,
        /// The error of the domain.
        source: AddressError,
    },
    /// The selector is invalid.
    #[error("{0:?} cannot be a DKIM selector: letters, digits, hyphens and dots")]
    Selector(String),
    /// The message has no `From`, which must be signed (RFC 6376 5.4).
    #[error("a message without From cannot be signed")]
    NoFrom,
    /// The message was not signed.
    #[error("the message cannot be signed: {0}")]
    Message(String),
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// A signer with the private key in the file `key`, whose public key is in DNS as `selector._domainkey.domain`.
    ///
    /// # Errors
    /// If the file has no usable key, or domain or selector are invalid.
    pub fn from_file(key: &Path, domain: &str, selector: &str) -> Result<Self, SignError> {
        let read = |source| SignError::Read { path: key.to_owned(), source };
        let octets = std::fs::metadata(key).map_err(read)?.len();
        if octets > KEY_OCTETS {
            let why = format!("it has {octets} octets");
            return Err(SignError::Key { path: key.to_owned(), why });
        }
        let pem = std::fs::read(key).map_err(read)?;
        Self::from_pem(&pem, domain, selector, key)
    }

    fn from_pem(pem: &[u8], domain: &str, selector: &str, path: &Path) -> Result<Self, SignError> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if selector.is_empty() || selector.len() > 200 || !selector.bytes().all(is_plain) {
            return Err(SignError::Selector(selector.to_owned()));
        }
        let postmaster = Address::parse(&format!("a@{domain}"))
            .map_err(|source| SignError::Domain { domain: domain.to_owned(), source })?;
        let domain = postmaster.domain();
        let bad =
            |why: &dyn fmt::Display| SignError::Key { path: path.to_owned(), why: why.to_string() };
        let der = PrivateKeyDer::from_pem_slice(without_mark(pem)).map_err(|e| bad(&e))?;
        let rsa = match &der {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => {
                let octets = der.secret_pkcs8_der();
                // OpenSSL writes Ed25519 keys without the public half.
                if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(octets) {
                    return Ok(Self::new(Key::Ed25519(key), domain, selector));
                }
                RsaKeyPair::from_pkcs8(octets)
            }
            _ => return Err(bad(&"it is neither RSA nor Ed25519")),
        };
        let key = rsa.map_err(|e| bad(&e))?;
        Ok(Self::new(Key::Rsa(key), domain, selector))
    }

    fn new(key: Key, domain: &str, selector: &str) -> Self {
        Self { key, domain: domain.to_owned(), selector: selector.to_owned() }
    }

    /// The `DKIM-Signature` field for the message `wire`, which is in wire form. It ends with a line end, and belongs
    /// before the message.
    ///
    /// # Errors
    /// If the message has no `From`.
    pub fn sign(&self, wire: &[u8]) -> Result<String, SignError> {
        let (header, body) = header_and_body(wire);
        let mut signed = Vec::new();
        let mut names = String::new();
        for name in SIGNED {
            let is_it = |(found, _): &(&[u8], &[u8])| found.eq_ignore_ascii_case(name.as_bytes());
            // Fields of the same name are signed from the last to the first (RFC 6376 5.4.2).
            let mut times = 0;
            for (_, value) in fields(header).into_iter().rev().filter(is_it) {
                extend_relaxed(&mut signed, name, value);
                signed.extend_from_slice(b"\r\n");
                times += 1;
            }
            if times == 0 && name == "From" {
                return Err(SignError::NoFrom);
            }
            for _ in 0..times.max(1) {
                let colon = if names.is_empty() { "" } else { ":" };
                push_folded(&mut names, &format!("{colon}{name}"));
            }
        }
        let algorithm = match &self.key {
            Key::Rsa(_) => "rsa-sha256",
            Key::Ed25519(_) => "ed25519-sha256",
        };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let hash = BASE64_STANDARD.encode(digest(&SHA256, &relaxed_body(body)));
        let Self { domain, selector, .. } = self;
        let mut value = format!(
            " v=1; a={algorithm}; c=relaxed/relaxed; t={at};\r\n\td={domain};\r\n\ts={selector};\r\n\t\
             bh={hash};\r\n\th={names};\r\n\tb="
        );
        extend_relaxed(&mut signed, "DKIM-Signature", value.as_bytes());
        for part in BASE64_STANDARD.encode(self.signature(&signed)?).as_bytes().chunks(LINE - 4) {
            value.extend(part.iter().copied().map(char::from));
            value.push_str("\r\n\t");
        }
        Ok(format!("DKIM-Signature:{}\r\n", value.trim_end()))
    }

    fn signature(&self, signed: &[u8]) -> Result<Vec<u8>, SignError> {
        match &self.key {
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed, &mut signature)
                    .map_err(|_| SignError::Message("the system has no random numbers".into()))?;
                Ok(signature)
            }
            // The hash is what is signed (RFC 8463 3).
            Key::Ed25519(key) => Ok(key.sign(digest(&SHA256, signed).as_ref()).as_ref().to_vec()),
        }
    }
}

/// The header with the end of its last line, and the body.
fn header_and_body(wire: &[u8]) -> (&[u8], &[u8]) {
    if let Some(body) = wire.strip_prefix(b"\r\n") {
        return (b"", body);
    }
    match memchr::memmem::find(wire, b"\r\n\r\n") {
        Some(at) => (&wire[..at + 2], &wire[at + 4..]),
        None => (wire, b""),
    }
}

/// Names and values of a header's fields. A value has the line ends within the field, and its last one.
fn fields(header: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut fields = Vec::new();
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', header).map(|at| at + 1) {
        if matches!(header.get(end), Some(b' ' | b'\t')) {
            continue;
        }
        let field = &header[begin..end];
        begin = end;
        if let Some(colon) = memchr::memchr(b':', field) {
            fields.push((field[..colon].trim_ascii_end(), &field[colon + 1..]));
        }
    }
    fields
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Adds a field in relaxed form, without its line end (RFC 6376 3.4.2).
fn extend_relaxed(into: &mut Vec<u8>, name: &str, value: &[u8]) {
    into.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
    into.push(b':');
    let begin = into.len();
    for word in value.split(|byte| is_space(*byte) || matches!(byte, b'\r' | b'\n')) {
        if !word.is_empty() {
            if into.len() > begin {
                into.push(b' ');
            }
            into.extend_from_slice(word);
        }
    }
}

/// The body in relaxed form (RFC 6376 3.4.4).
fn relaxed_body(body: &[u8]) -> Vec<u8> {
    let mut relaxed = Vec::with_capacity(body.len() + 2);
    let mut end = 0;
    for line in body.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut was_space = false;
        let begin = relaxed.len();
        for byte in line {
            if is_space(*byte) {
                was_space = true;
                continue;
            }
            if std::mem::take(&mut was_space) {
                relaxed.push(b' ');
            }
            relaxed.push(*byte);
        }
        let is_empty = relaxed.len() == begin;
        relaxed.extend_from_slice(b"\r\n");
        if !is_empty {
            end = relaxed.len();
        }
    }
    relaxed.truncate(end);
    relaxed
}

/// Adds a part of a value, on a new line if this one has no room for it.
fn push_folded(value: &mut String, part: &str) {
    let line = value.len() - value.rfind('\n').map_or(0, |at| at + 1);
    if line + part.len() > LINE - 4 {
        value.push_str("\r\n\t");
    }
    value.push_str(part);
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    const RSA: &str = include_str!("test-rsa.pem");

    fn signer_of(pem: &str) -> Result<Signer, SignError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        Signer::from_file(file.path(), "Example.org", "s1")
    }

    /// The key in PEM form, and its public half.
    fn ed25519() -> (String, Vec<u8>) {
        let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let public =
            Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap().public_key().as_ref().to_vec();
        let text = BASE64_STANDARD.encode(der);
        (format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"), public)
    }

    /// A field in relaxed form (RFC 6376 3.4.2).
    fn relaxed_field(field: &str) -> String {
        let (name, value) = field.split_once(':').unwrap();
        let words: Vec<&str> =
            value.split([' ', '\t', '\r', '\n']).filter(|w| !w.is_empty()).collect();
        format!("{}:{}", name.trim_end().to_lowercase(), words.join(" "))
    }

    /// A body in relaxed form (RFC 6376 3.4.4).
    fn relaxed_body(body: &str) -> String {
        let line = |line: &str| {
            let mut made = String::new();
            for c in line.trim_end_matches([' ', '\t']).chars() {
                match c {
                    ' ' | '\t' if made.ends_with(' ') => {}
                    ' ' | '\t' => made.push(' '),
                    c => made.push(c),
                }
            }
            made
        };
        let text: Vec<String> = body.split("\r\n").map(line).collect();
        let text = text.join("\r\n");
        let text = text.trim_end_matches("\r\n");
        if text.is_empty() { String::new() } else { format!("{text}\r\n") }
    }

    fn fields(header: &str) -> Vec<String> {
        let joined = header.replace("\r\n ", "\0 ").replace("\r\n\t", "\0\t");
        joined.split("\r\n").map(|field| field.replace('\0', "\r\n")).collect()
    }

    fn tag(field: &str, name: &str) -> String {
        let value = field.split_once(':').unwrap().1;
        let mut tags = value.split(';').filter_map(|tag| tag.trim().split_once('='));
        let value = tags.find(|(found, _)| *found == name).expect(name).1;
        value.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// Checks a signature by RFC 6376 section 3.7, independently of the signer.
    fn is_good(signature: &str, message: &str, public: &[u8]) -> bool {
        let (header, body) = message.split_once("\r\n\r\n").unwrap();
        let hash = BASE64_STANDARD.encode(digest(&SHA256, relaxed_body(body).as_bytes()));
        let mut left = fields(header);
        let mut signed = String::new();
        for name in tag(signature, "h").split(':') {
            let is_it = |field: &String| {
                field.split(':').next().unwrap().trim_end().eq_ignore_ascii_case(name)
            };
            if let Some(at) = left.iter().rposition(is_it) {
                signed.push_str(&relaxed_field(&left.remove(at)));
                signed.push_str("\r\n");
            }
        }
        let own = relaxed_field(signature.trim_end());
        let (before, b) = own.split_at(own.rfind("b=").unwrap() + 2);
        let after = b.find(';').map_or("", |at| &b[at..]);
        signed.push_str(&format!("{before}{after}"));
        let value = BASE64_STANDARD.decode(tag(signature, "b")).unwrap();
        let is_signed = match tag(signature, "a").as_str() {
            "rsa-sha256" => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
                .verify(signed.as_bytes(), &value),
            "ed25519-sha256" => UnparsedPublicKey::new(&ED25519, public)
                .verify(digest(&SHA256, signed.as_bytes()).as_ref(), &value),
            other => panic!("{other}"),
        };
        is_signed.is_ok() && hash == tag(signature, "bh")
    }

    const MESSAGE: &str = "From: Jo <jo@example.org>\r\nTo: al@x.test\r\nX-Other: 1\r\nSubject: A  long\r\n \
                           line\r\nMessage-ID: <1@x>\r\nList-Unsubscribe: <https://x>\r\n\
                           List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\n Dear  you \r\n\r\nend\t\r\n\r\n\r\n";

    #[test]
    fn signatures_can_be_verified() {
        let rsa = RsaKeyPair::from_pkcs8(
            PrivateKeyDer::from_pem_slice(RSA.as_bytes()).unwrap().secret_der(),
        );
        let rsa = rsa.unwrap().public().as_ref().to_vec();
        let (ed_pem, ed_public) = ed25519();
        for (pem, public) in [(RSA, &rsa), (&ed_pem, &ed_public)] {
            let signature = signer_of(pem).unwrap().sign(MESSAGE.as_bytes()).unwrap();
            assert!(signature.starts_with("DKIM-Signature:") && signature.ends_with("\r\n"));
            assert_eq!(tag(&signature, "d"), "example.org");
            assert_eq!(
                (tag(&signature, "s"), tag(&signature, "c")),
                ("s1".into(), "relaxed/relaxed".into())
            );
            for name in
                ["From", "To", "Subject", "Message-ID", "List-Unsubscribe", "List-Unsubscribe-Post"]
            {
                assert!(
                    tag(&signature, "h").split(':').any(|h| h.eq_ignore_ascii_case(name)),
                    "{signature}"
                );
            }
            assert!(is_good(&signature, MESSAGE, public), "{signature}");
            let spaced =
                MESSAGE.replace("Dear  you", "Dear you").replace("X-Other: 1", "X-Other: 2");
            assert!(is_good(&signature, &spaced, public));
            for (from, to) in
                [("end", "eld"), ("al@x", "bo@x"), ("One-Click", "No"), (" long", "short")]
            {
                assert!(!is_good(&signature, &MESSAGE.replace(from, to), public), "{from}");
            }
        }
    }

    #[test]
    fn all_fields_of_a_name_are_signed() {
        let (pem, public) = ed25519();
        let signer = signer_of(&pem).unwrap();
        let message = "FROM:a@x.test\r\nTo : b@x.test\r\nto:\r\n c@x.test\r\n\r\n \t\r\n";
        let signature = signer.sign(message.as_bytes()).unwrap();
        assert_eq!(
            tag(&signature, "h").split(':').filter(|h| *h == "To").count(),
            2,
            "{signature}"
        );
        assert!(signature.lines().all(|line| line.len() <= 78), "{signature}");
        // A body of spaces is an empty one.
        assert_eq!(tag(&signature, "bh"), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert!(is_good(&signature, message, &public), "{signature}");
        let other = message.replace("b@x", "d@x");
        assert!(!is_good(&signature, &other, &public));
        let without = signer.sign(b"From: a@x.test\r\n").unwrap();
        assert!(is_good(&without, "From: a@x.test\r\n\r\n", &public));
    }

    #[test]
    fn says_what_is_wrong_with_a_key() {
        let says = |pem: &str| signer_of(pem).unwrap_err().to_string();
        assert!(says("").contains("is no DKIM key"));
        assert!(says(&RSA.replace("MII", "NII")).contains("is no DKIM key"));
        assert!(says(&RSA.replace("PRIVATE", "PUBLIC")).contains("openssl genrsa"));
        assert!(says(&"x".repeat(70_000)).contains("70000 octets"));
        let missing = Signer::from_file(Path::new("no/such.pem"), "x.test", "s").unwrap_err();
        assert!(matches!(missing, SignError::Read { .. }));
        let of = |domain, selector| {
            Signer::from_pem(RSA.as_bytes(), domain, selector, Path::new("key"))
                .unwrap_err()
                .to_string()
        };
        assert!(of("x test", "s").contains("domain of a DKIM signature"));
        assert!(of("x.test", "s;d=y").contains("selector"));
        assert!(signer_of(RSA).unwrap().sign(b"\r\nbody\r\n").is_err());
    }
}
