//! User and password for the relay, from a file or the environment.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use smtp::auth::{Credentials, EACH_AT_MOST};
use smtp::data::without_mark;
use thiserror::Error;

/// The environment variable with `user:password`.
pub const VARIABLE: &str = "OSCOST_MAIL_AUTH";
/// Maximum size of the credentials file, in bytes: user, colon, password and a line end.
const FILE_AT_MOST: u64 = 2 * EACH_AT_MOST as u64 + 3;

/// The reason why there are no credentials. It never contains the text that was read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The file cannot be read.
    #[error("cannot read user and password from {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// The text is not a user and a password.
    #[error("{source_name}: {cause}; it must be user:password")]
    Wrong {
        /// The file or the variable.
        source_name: String,
        /// What is wrong with the text.
        cause: &'static str,
    },
}

/// Reads `user:password` from a file with one line. The password may contain colons, the user name may not.
///
/// # Errors
///
/// If the file cannot be read, is readable by all users (on Unix), or is malformed.
pub fn from_file(path: &Path) -> Result<Credentials, AuthError> {
    let fail = |cause| AuthError::File { path: path.to_owned(), cause };
    let file = File::open(path).map_err(fail)?;
    if is_readable_by_all(&file).map_err(fail)? {
        return Err(AuthError::Open { path: path.to_owned() });
    }
    let mut content = Vec::new();
    file.take(FILE_AT_MOST + 1).read_to_end(&mut content).map_err(fail)?;
    let content = without_mark(&content);
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    let content = content.strip_suffix(b"\r").unwrap_or(content);
    Credentials::parse(content)
        .map_err(|cause| AuthError::Wrong { source_name: path.display().to_string(), cause })
}

/// Reads `user:password` from the environment variable [`VARIABLE`]; `None` if it is not set.
///
/// # Errors
///
/// If the variable is malformed.
pub fn from_environment() -> Result<Option<Credentials>, AuthError> {
    from_variable(std::env::var_os(VARIABLE))
}

fn from_variable(value: Option<OsString>) -> Result<Option<Credentials>, AuthError> {
    let Some(value) = value else { return Ok(None) };
    let wrong = |cause| AuthError::Wrong { source_name: VARIABLE.to_owned(), cause };
    let value = value.into_string().map_err(|_| wrong("it is not UTF-8"))?;
    Credentials::parse(value.as_bytes()).map(Some).map_err(wrong)
}

/// Whether users other than the owner and the file's group can read the file.
#[cfg(unix)]
fn is_readable_by_all(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    const READ_BY_OTHERS: u32 = 0o004;
    Ok(file.metadata()?.mode() & READ_BY_OTHERS != 0)
}

/// Returns false: access control lists are inherited, and users' own folders are private by default.
#[cfg(not(unix))]
fn is_readable_by_all(_file: &File) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

    use super::*;

    fn in_file(content: &[u8]) -> Result<Credentials, AuthError> {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        from_file(file.path())
    }

    #[test]
    fn a_file_has_one_line_with_or_without_its_end() {
        let tim = in_file(b"tim:tanstaaftanstaaf\n").unwrap();
        assert_eq!(tim, Credentials::parse(b"tim:tanstaaftanstaaf").unwrap());
        assert_eq!(in_file(b"tim:tanstaaftanstaaf\r\n").unwrap(), tim);
        assert_eq!(in_file(b"tim:tanstaaftanstaaf").unwrap(), tim);
        assert_eq!(in_file(b"\xef\xbb\xbftim:tanstaaftanstaaf\r\n").unwrap(), tim);
    }

    #[test]
    fn errors_do_not_show_the_password() {
        for wrong in [&b"verysecret"[..], b":verysecret", b"tim:verysecret\nx", b"tim:verysecret\0"]
        {
            let error = in_file(wrong).unwrap_err();
            assert!(matches!(error, AuthError::Wrong { .. }), "{wrong:?}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("verysecret"), "{shown}");
        }
    }

    #[test]
    fn malformed_and_missing_files_are_refused() {
        let long = vec![b'x'; EACH_AT_MOST + 1];
        for wrong in [
            &b""[..],
            b"tim:x\n\n",
            b"tim:x\ny",
            b"tim:\xff",
            &[&b"tim:"[..], &long].concat(),
            &[&long[..], b":x"].concat(),
        ] {
            assert!(matches!(in_file(wrong), Err(AuthError::Wrong { .. })), "{wrong:?}");
        }
        let missing = from_file(Path::new("/no/such/file")).unwrap_err();
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
            match from_file(file.path()) {
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
        assert_eq!(from_variable(None).unwrap(), None);
        let one = from_variable(Some("tim:x".into())).unwrap().unwrap();
        assert_eq!(one.login_password(), "eA==");
        let error = from_variable(Some("verysecret".into())).unwrap_err().to_string();
        assert!(error.contains(VARIABLE) && !error.contains("verysecret"), "{error}");
    }
}
