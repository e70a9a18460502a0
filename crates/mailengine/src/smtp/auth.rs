//! Who the sender says it is (RFC 4954): user and password, and how they are told.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

/// The environment variable with `user:password`.
pub const VARIABLE: &str = "OSCOST_MAIL_AUTH";
/// Most bytes of a user's name, and of a password: a command line may be no longer than 12,288 bytes (RFC 4954,
/// section 4), which both in base64 fit in.
const EACH_AT_MOST: usize = 4_000;
/// Most bytes of a file with both and a line end.
const FILE_AT_MOST: u64 = 2 * EACH_AT_MOST as u64 + 3;

/// Why there are no credentials. Never says what was read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The file cannot be read.
    #[error("cannot read user and password from {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Other users can read the file.
    #[error(
        "the password in {} can be read by all users of this system; change that: chmod o= {}",
        path.display(), path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// What was found is not user and password.
    #[error("{place}: {cause}; it must be user:password")]
    Wrong {
        /// Where it was found.
        place: String,
        /// What is wrong with it.
        cause: &'static str,
    },
}

/// How user and password are told. Both ways say them in clear, so only within TLS, or to this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// `AUTH PLAIN` with all at once (RFC 4616).
    Plain,
    /// `AUTH LOGIN`, then the user, then the password, as some servers have nothing else
    /// (draft-murchison-sasl-login).
    Login,
}

impl Mechanism {
    /// The better of those a server offers, as in the words after `AUTH` of its EHLO reply; none if it offers neither.
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

/// A user and the password, which are shown nowhere.
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

/// The user alone.
impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)
    }
}

impl Credentials {
    /// Those in a file: `user:password` on its only line. The password may have colons, the user not.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or by all users (on Unix), or does not have them.
    pub fn from_file(path: &Path) -> Result<Self, AuthError> {
        let fail = |cause| AuthError::File { path: path.to_owned(), cause };
        let file = File::open(path).map_err(fail)?;
        if is_readable_by_all(&file).map_err(fail)? {
            return Err(AuthError::Open { path: path.to_owned() });
        }
        let mut content = Vec::new();
        file.take(FILE_AT_MOST + 1).read_to_end(&mut content).map_err(fail)?;
        let content = content.strip_suffix(b"\n").unwrap_or(&content);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        Self::parse(content)
            .map_err(|cause| AuthError::Wrong { place: path.display().to_string(), cause })
    }

    /// Those in the environment variable [`VARIABLE`]; none if it is not set.
    ///
    /// # Errors
    ///
    /// If it does not have them.
    pub fn from_environment() -> Result<Option<Self>, AuthError> {
        Self::from_variable(std::env::var_os(VARIABLE))
    }

    fn from_variable(value: Option<OsString>) -> Result<Option<Self>, AuthError> {
        let Some(value) = value else { return Ok(None) };
        let wrong = |cause| AuthError::Wrong { place: VARIABLE.to_owned(), cause };
        let value = value.into_string().map_err(|_| wrong("it is not UTF-8"))?;
        Self::parse(value.as_bytes()).map(Some).map_err(wrong)
    }

    /// Those in `user:password`.
    fn parse(given: &[u8]) -> Result<Self, &'static str> {
        let given = std::str::from_utf8(given).map_err(|_| "it is not UTF-8")?;
        let (user, password) = given.split_once(':').ok_or("there is no colon in it")?;
        if user.is_empty() || password.is_empty() {
            return Err("the user or the password is empty");
        }
        if user.len() > EACH_AT_MOST || password.len() > EACH_AT_MOST {
            return Err("the user or the password is longer than 4000 bytes");
        }
        // NUL parts them in PLAIN; the rest can only be a mistake, or an attempt to say more than both.
        if given.contains(['\0', '\r', '\n']) {
            return Err("it has more than one line, or a NUL byte");
        }
        Ok(Self { user: user.to_owned(), password: password.to_owned() })
    }

    /// What follows `AUTH PLAIN `: all in one, in base64 (RFC 4616, section 2). Not to be logged.
    pub fn plain(&self) -> String {
        STANDARD.encode(format!("\0{}\0{}", self.user, self.password))
    }

    /// The answer to `AUTH LOGIN`'s first question, in base64.
    pub fn login_user(&self) -> String {
        STANDARD.encode(&self.user)
    }

    /// The answer to its second, in base64. Not to be logged.
    pub fn login_password(&self) -> String {
        STANDARD.encode(&self.password)
    }

    /// A text without the password in any form in which it is told, nor the beginning of one: servers that do not
    /// understand a command may repeat it, and part of that may be cut off.
    pub fn hidden_in(&self, text: &str) -> String {
        let forms = [self.plain(), self.login_password(), self.password.clone()];
        forms.iter().fold(text.to_owned(), |text, form| without(&text, form))
    }
}

/// Characters by which the beginning of a secret is known.
const BEGINNING: usize = 8;

/// A text without a secret, or as much of its beginning as is there.
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

/// Whether users can who are neither the owner nor of the file's group.
#[cfg(unix)]
fn is_readable_by_all(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    const READ_BY_OTHERS: u32 = 0o004;
    Ok(file.metadata()?.mode() & READ_BY_OTHERS != 0)
}

/// Not known without asking for access rules, which are inherited: users' own folders are closed.
#[cfg(not(unix))]
fn is_readable_by_all(_file: &File) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tempfile::NamedTempFile;

    use super::*;

    fn in_file(content: &[u8]) -> Result<Credentials, AuthError> {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Credentials::from_file(file.path())
    }

    #[test]
    fn are_told_as_the_standards_say() {
        // The example of RFC 4616, section 4, and of RFC 4954, section 4.1 has the same form.
        let tim = in_file(b"tim:tanstaaftanstaaf\n").unwrap();
        assert_eq!(tim.plain(), "AHRpbQB0YW5zdGFhZnRhbnN0YWFm");
        assert_eq!(tim.login_user(), "dGlt");
        assert_eq!(tim.login_password(), "dGFuc3RhYWZ0YW5zdGFhZg==");
        assert_eq!(in_file(b"tim:tanstaaftanstaaf\r\n").unwrap(), tim);
        assert_eq!(in_file(b"tim:tanstaaftanstaaf").unwrap(), tim);
    }

    #[test]
    fn password_may_have_colons_and_spaces() {
        let one = in_file(b"a@example.org: b:c \n").unwrap();
        assert_eq!(STANDARD.decode(one.plain()).unwrap(), b"\0a@example.org\0 b:c ");
    }

    #[test]
    fn password_is_shown_nowhere() {
        let one = in_file(b"tim:verysecret\n").unwrap();
        let shown = format!("{one:?} {one:#?} {one} {:?}", Some(&one));
        assert!(shown.contains("tim") && !shown.contains("verysecret"), "{shown}");
        for wrong in [&b"verysecret"[..], b":verysecret", b"tim:verysecret\nx", b"tim:verysecret\0"]
        {
            let error = in_file(wrong).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("verysecret"), "{shown}");
        }
    }

    #[test]
    fn password_is_hidden_where_a_server_repeats_it() {
        let one = in_file(b"tim:verysecret password\n").unwrap();
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
        assert_eq!(in_file("tim:…".as_bytes()).unwrap().hidden_in("535 … no"), "535 … no");
    }

    #[test]
    fn what_is_not_both_is_refused() {
        let long = vec![b'x'; EACH_AT_MOST + 1];
        for wrong in [
            &b""[..],
            b"tim",
            b"tim:",
            b":x",
            b"tim:x\n\n",
            b"tim:x\ny",
            b"t\rim:x",
            b"tim:\0x",
            b"tim:\xff",
            &[&b"tim:"[..], &long].concat(),
            &[&long[..], b":x"].concat(),
        ] {
            assert!(matches!(in_file(wrong), Err(AuthError::Wrong { .. })), "{wrong:?}");
        }
        let missing = Credentials::from_file(Path::new("/no/such/file")).unwrap_err();
        assert!(missing.to_string().contains("/no/such/file"));
    }

    #[cfg(unix)]
    #[test]
    fn file_that_all_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "tim:x").unwrap();
        for (mode, is_refused) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            match Credentials::from_file(file.path()) {
                Ok(_) => assert!(!is_refused, "{mode:o}"),
                Err(error) => {
                    assert!(
                        is_refused && error.to_string().contains("chmod o="),
                        "{mode:o}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn variable_has_them_or_is_not_set() {
        assert_eq!(Credentials::from_variable(None).unwrap(), None);
        let one = Credentials::from_variable(Some("tim:x".into())).unwrap().unwrap();
        assert_eq!(one.login_password(), "eA==");
        let error = Credentials::from_variable(Some("verysecret".into())).unwrap_err().to_string();
        assert!(error.contains(VARIABLE) && !error.contains("verysecret"), "{error}");
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
                let told = STANDARD.decode(read.plain()).unwrap();
                let parts: Vec<_> = told.split(|&byte| byte == 0).collect();
                prop_assert_eq!(parts.len(), 3);
                prop_assert_eq!([parts[1], parts[2]].join(&b':'), given);
            }
        }
    }
}
