//! What the coordinator asks a node to do, and what the node answers: each one JSON object in a line.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

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
    /// The run's document.
    Document {
        /// The document, as JSON.
        text: String,
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
