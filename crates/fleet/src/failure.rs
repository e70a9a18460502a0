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

    /// The failure that a node reports, with texts of ordinary length.
    pub fn of_node(self) -> Self {
        Self { reason: one_line(&self.reason), remedy: one_line(&self.remedy), ..self }
    }

    /// The failure of an operation on files or processes of the node that executes this.
    pub fn of_io(what: &str, error: &io::Error) -> Self {
        Self::of_text(&format!("{what}: {error}"))
    }

    /// The failure that a program on the node reports with this text.
    pub fn of_text(text: &str) -> Self {
        let said = last_lines(text);
        let is = |words: &[&str]| words.iter().any(|word| said.contains(word));
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
        // The messages of shells for a program whose dynamic linker is missing, and of the linker itself.
        let is_not_executed = said.contains("oscost/bin/")
            && is(&[
                "not found",
                "No such file or directory",
                "cannot execute",
                "Exec format error",
            ]);
        if is_not_executed || is(&["GLIBC_", "cannot open shared object file"]) {
            return Self::lasting(
                format!("the program does not run there: {said}"),
                "copy a static oscost, as released: --binary FILE or OSCOST_STATIC=FILE",
            );
        }
        Self::passing(said, "see the node's run.log, below ~/.cache/oscost/fleet")
    }
}

/// The text in one line of ordinary length.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = words.char_indices().nth(400).map_or(words.len(), |(at, _)| at);
    words[..end].to_owned()
}

/// The last lines of a program's errors, joined.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_programs_become_reasons() {
        for (text, reason, again) in [
            (
                "cat: write error: No space left on device\n",
                "no space on the node: cat: write",
                false,
            ),
            (
                "mkdir: cannot create directory '/a': Read-only file system\n",
                "no permission on",
                false,
            ),
            ("sh: 1: exec: /home/a/.cache/oscost/bin/1f: not found\n", "does not run there", false),
            (
                "/a/oscost/bin/1f: version `GLIBC_2.38' not found (required by it)\n",
                "does not run there",
                false,
            ),
            ("a message\nanother\n\nthird\nfourth\n", "another; third; fourth", true),
            // Only the last messages say why a program ended.
            ("perf: Permission denied\n1\n2\n3\n", "1; 2; 3", true),
        ] {
            let failure = Failure::of_text(text);
            assert!(failure.reason.contains(reason), "{failure:?}");
            assert_eq!(failure.again, again, "{failure:?}");
            assert!(!failure.remedy.is_empty());
        }
    }

    #[test]
    fn a_reason_is_one_line_of_ordinary_length() {
        let failure = Failure::lasting("ä\n".repeat(1_000), "");
        assert_eq!(failure.reason.chars().count(), 400);
        assert!(!failure.reason.contains('\n'));
    }
}
