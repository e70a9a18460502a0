//! Why a node has no result, and what can be done about it.

use std::io;

use serde::{Deserialize, Serialize};

/// Why a node has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The reason, in one line.
    pub reason: String,
    /// What to do.
    pub remedy: String,
    /// Whether another attempt may succeed without a change by the user.
    pub again: bool,
}

impl Failure {
    /// A failure that lasts until somebody changes something.
    pub fn lasting(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: one_line(&reason.into()), remedy: remedy.into(), again: false }
    }

    /// A failure that may be over at the next attempt.
    pub fn passing(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { again: true, ..Self::lasting(reason, remedy) }
    }

    /// The failure of an operation on files or processes of the node that executes this.
    pub fn of_io(what: &str, error: &io::Error) -> Self {
        Self::of_text(&format!("{what}: {error}"))
    }

    /// The failure that a program on the node reports with this text.
    pub fn of_text(text: &str) -> Self {
        let said = last_lines(text);
        let is = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if is(&["No space left on device", "database or disk is full", "Disk quota exceeded"]) {
            return Self::lasting(
                format!("no space on the node: {said}"),
                "free space there, below ~/.cache/oscost",
            );
        }
        if is(&["Read-only file system", "Permission denied", "Operation not permitted"]) {
            return Self::lasting(
                format!("no permission on the node: {said}"),
                "make ~/.cache/oscost there writable for this user",
            );
        }
        if is(&["GLIBC_", "Exec format error", "No such file or directory: ./oscost"]) {
            return Self::lasting(
                format!("the program does not run there: {said}"),
                "copy a static oscost, as released: --binary FILE or OSCOST_STATIC=FILE",
            );
        }
        Self::passing(said, "see the node's run.log, below ~/.cache/oscost/fleet")
    }
}

/// The text in one line of ordinary length.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = words.char_indices().nth(400).map_or(words.len(), |(at, _)| at);
    words[..end].to_owned()
}

/// The last lines of a program's errors, joined.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
