//! What the coordinator asks a node to do, and what the node answers: each one JSON object in a line.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Maximum length of a line of a node, in bytes; longer ones are skipped.
pub(crate) const LINE_AT_MOST: usize = 128 << 10;
/// Maximum length of a part of a document, in bytes. JSON has at most six bytes for each of them.
pub(crate) const PART_AT_MOST: usize = 16 << 10;

/// What a node is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Measure, unless the job's run is there, and return its document.
    Measure,
    /// End what the job runs there.
    End,
}

/// An order to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is asked.
    pub act: Act,
    /// The job.
    pub job: String,
    /// The node's name.
    pub node: String,
    /// User and host of the coordinator.
    pub by: String,
    /// The arguments of `run`.
    pub arguments: Vec<String>,
    /// Time limit for the run.
    pub limit: Duration,
    /// Time limit for waiting until another job's run has ended.
    pub wait: Duration,
}

/// What a node says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "oscost-fleet", rename_all = "kebab-case")]
pub enum Message {
    /// Another run is measured there; this one waits.
    Waiting {
        /// Who measures.
        holder: String,
    },
    /// The node measures.
    Begun,
    /// A part of the run's document.
    Part {
        /// The next bytes of the document, which is JSON.
        text: String,
    },
    /// The run's document was sent in parts.
    Document {
        /// Its length.
        bytes: u64,
    },
    /// There is no result.
    Failed(Failure),
    /// The job was stopped, or nothing of it runs any more.
    Ended,
}

impl Message {
    /// The message in a line; `None` for any other output, such as a greeting of the login shell.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The parts of a document, so that neither side has a long line.
    pub fn parts(document: &str) -> impl Iterator<Item = Self> {
        let mut rest = document;
        std::iter::from_fn(move || {
            let mut end = rest.len().min(PART_AT_MOST);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (part, after) = rest.split_at(end);
            rest = after;
            (!part.is_empty()).then(|| Self::Part { text: part.to_owned() })
        })
    }

    /// Writes the message as a line.
    ///
    /// # Errors
    /// Those of writing: the connection may be lost.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let line = serde_json::to_string(self).map_err(io::Error::other)?;
        writeln!(output, "{line}")?;
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_parts_is_the_same_document() {
        let all = ["\u{1}".repeat(PART_AT_MOST * 2), "ä\"€".repeat(9_999), String::new()];
        for document in all {
            let mut joined = String::new();
            for part in Message::parts(&document) {
                let mut line = Vec::new();
                part.write(&mut line).unwrap();
                assert!(line.len() < LINE_AT_MOST, "{}", line.len());
                let parsed = Message::parse(std::str::from_utf8(&line).unwrap());
                let Some(Message::Part { text }) = parsed else { panic!("{parsed:?}") };
                joined += &text;
            }
            assert_eq!(joined, document);
        }
    }
}
