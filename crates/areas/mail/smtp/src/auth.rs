//! SMTP authentication (RFC 4954): credentials, and the forms in which they are sent.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Maximum length of user name and password, each in bytes: a command line may have 12,288 bytes (RFC 4954, section 4),
/// enough for both in base64.
pub const EACH_AT_MOST: usize = 4_000;

/// A SASL mechanism. Both send the password in clear text, and are used over TLS or to this machine only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// `AUTH PLAIN`: user and password in one string (RFC 4616).
    Plain,
    /// `AUTH LOGIN`: the user, then the password; some servers have no other mechanism (draft-murchison-sasl-login).
    Login,
}

impl Mechanism {
    /// The preferred mechanism among those `offered` in a reply to EHLO; `None` if neither is.
    pub fn best<'a>(offered: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut best = None;
        for word in offered {
            if word.eq_ignore_ascii_case("PLAIN") {
                return Some(Self::Plain);
            }
            if word.eq_ignore_ascii_case("LOGIN") {
                best = Some(Self::Login);
            }
        }
        best
    }
}

/// User and password. The password is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Shows the user only.
impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)
    }
}

impl Credentials {
    /// Parses `user:password`. The password may contain colons, the user name may not.
    ///
    /// # Errors
    /// If the text is invalid; the message does not contain it.
    pub fn parse(given: &[u8]) -> Result<Self, &'static str> {
        let given = std::str::from_utf8(given).map_err(|_| "it is not UTF-8")?;
        let (user, password) = given.split_once(':').ok_or("there is no colon in it")?;
        if user.is_empty() || password.is_empty() {
            return Err("the user or the password is empty");
        }
        if user.len() > EACH_AT_MOST || password.len() > EACH_AT_MOST {
            return Err("the user or the password is longer than 4000 bytes");
        }
        // A NUL separates user and password in PLAIN; line ends are a mistake or an attempt to inject commands.
        if given.contains(['\0', '\r', '\n']) {
            return Err("it has more than one line, or a NUL byte");
        }
        Ok(Self { user: user.to_owned(), password: password.to_owned() })
    }

    /// The response of `AUTH PLAIN`, in base64 (RFC 4616, section 2). Not to be logged.
    pub fn plain(&self) -> String {
        STANDARD.encode(format!("\0{}\0{}", self.user, self.password))
    }

    /// The first response of `AUTH LOGIN`: the user, in base64.
    pub fn login_user(&self) -> String {
        STANDARD.encode(&self.user)
    }

    /// The second response of `AUTH LOGIN`: the password, in base64. Not to be logged.
    pub fn login_password(&self) -> String {
        STANDARD.encode(&self.password)
    }

    /// `text` without the password in any form in which it is sent, and without the beginning of such a form: a server may
    /// repeat a command that it does not understand, maybe truncated.
    pub fn hidden_in(&self, text: &str) -> String {
        let forms = [self.plain(), self.login_password(), self.password.clone()];
        forms.iter().fold(text.to_owned(), |text, form| without(&text, form))
    }
}

/// Number of a secret's first characters by which it is recognized.
const BEGINNING: usize = 8;

/// `text` with `…` for each occurrence of the secret or of its beginning.
fn without(text: &str, secret: &str) -> String {
    let beginning = secret.char_indices().nth(BEGINNING).map_or(secret, |(at, _)| &secret[..at]);
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(beginning) {
        let (before, found) = rest.split_at(at);
        let same = found.chars().zip(secret.chars()).take_while(|(a, b)| a == b);
        let octets: usize = same.map(|(c, _)| c.len_utf8()).sum();
        made.push_str(before);
        made.push('…');
        rest = &found[octets..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Credentials {
        Credentials::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn are_encoded_as_the_standards_say() {
        // RFC 4616, section 4, has this example, and RFC 4954, section 4.1, one of the same form.
        let tim = parsed("tim:tanstaaftanstaaf");
        assert_eq!(tim.plain(), "AHRpbQB0YW5zdGFhZnRhbnN0YWFm");
        assert_eq!(tim.login_user(), "dGlt");
        assert_eq!(tim.login_password(), "dGFuc3RhYWZ0YW5zdGFhZg==");
    }

    #[test]
    fn password_may_have_colons_and_spaces() {
        let one = parsed("a@example.org: b:c ");
        assert_eq!(STANDARD.decode(one.plain()).unwrap(), b"\0a@example.org\0 b:c ");
    }

    #[test]
    fn password_is_shown_nowhere() {
        let one = parsed("tim:verysecret");
        let shown = format!("{one:?} {one:#?} {one} {:?}", Some(&one));
        assert!(shown.contains("tim") && !shown.contains("verysecret"), "{shown}");
        for wrong in [&b"verysecret"[..], b":verysecret", b"tim:verysecret\nx", b"tim:verysecret\0"]
        {
            let error = Credentials::parse(wrong).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("verysecret"), "{shown}");
        }
    }

    #[test]
    fn password_is_hidden_where_a_server_repeats_it() {
        let one = parsed("tim:verysecret password");
        let (plain, login) = (one.plain(), one.login_password());
        for said in [
            format!("500 what is AUTH PLAIN {plain}?"),
            format!("500 what is AUTH PLAIN {}", &plain[..20]),
            format!("535 {login} {login} is wrong"),
            "535 verysecret password is wrong".to_owned(),
        ] {
            let hidden = one.hidden_in(&said);
            let secret = STANDARD.encode("secret");
            assert!(!hidden.contains("secret") && !hidden.contains(&secret), "{hidden}");
            for part in [&plain[8..16], &login[8..16]] {
                assert!(!hidden.contains(part), "{hidden}");
            }
        }
        assert_eq!(one.hidden_in("535 no, Tim"), "535 no, Tim");
        assert_eq!(parsed("tim:…").hidden_in("535 … no"), "535 … no");
    }

    #[test]
    fn what_is_not_both_is_refused() {
        let long = vec![b'x'; EACH_AT_MOST + 1];
        for wrong in [
            &b""[..],
            b"tim",
            b"tim:",
            b":x",
            b"tim:x\n",
            b"tim:x\ny",
            b"t\rim:x",
            b"tim:\0x",
            b"tim:\xff",
            &[&b"tim:"[..], &long].concat(),
            &[&long[..], b":x"].concat(),
        ] {
            assert!(Credentials::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn plain_is_preferred() {
        assert_eq!(Mechanism::best(["LOGIN", "plain", "CRAM-MD5"]), Some(Mechanism::Plain));
        assert_eq!(Mechanism::best(["XOAUTH2", "Login"]), Some(Mechanism::Login));
        assert_eq!(Mechanism::best(["CRAM-MD5"]), None);
        assert_eq!(Mechanism::best([]), None);
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(given in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(read) = Credentials::parse(&given) {
                let decoded = STANDARD.decode(read.plain()).unwrap();
                let parts: Vec<_> = decoded.split(|&byte| byte == 0).collect();
                prop_assert_eq!(parts.len(), 3);
                prop_assert_eq!([parts[1], parts[2]].join(&b':'), given);
            }
        }
    }
}
