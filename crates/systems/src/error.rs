//! Errors of naming or starting a system.

use std::io;
use std::path::PathBuf;

/// The reason why a system cannot be named or started.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The text does not name a system; the message says what would.
    #[error("{0}")]
    Usage(String),
    /// A file of systems has an error at this place.
    #[error("{}:{line}:{column}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// A program that the launcher needs is not installed.
    #[error("{launcher} needs the program {program}: {remedy}")]
    Missing {
        /// The launcher.
        launcher: &'static str,
        /// The program.
        program: String,
        /// The remedy, such as a package to install.
        remedy: String,
    },
    /// This machine cannot run the system; the message says why.
    #[error("{0}")]
    Unsupported(String),
    /// The start failed.
    #[error("{0}")]
    Failed(String),
}

impl SystemError {
    /// The error for `error` of the operating system while doing `what`.
    pub(crate) fn from_io(what: impl Into<String>, error: &io::Error) -> Self {
        Self::Failed(format!("{}: {error}", what.into()))
    }
}

/// The last line that is not blank, without control characters.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    const LONGEST: usize = 400;
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split(['\n', '\r']).map(str::trim);
    let last = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
    last.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_plain_text() {
        assert_eq!(last_line(b"a\nrunsc: \x1b[1mno\x1b[0m way\r\n\n  \n"), "runsc: [1mno[0m way");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[0xff; 10_000]).chars().count(), 400);
    }
}
