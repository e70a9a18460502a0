//! What a job is to do.

use serde::{Deserialize, Serialize};

use crate::binary::Binary;
use crate::effort::Effort;
use crate::nodes::Node;
use crate::transport::slurm::SlurmSettings;

/// How commands are started on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// By OpenSSH.
    Ssh {
        /// The command `ssh` with options.
        command: Vec<String>,
    },
    /// By Slurm.
    Slurm(SlurmSettings),
}

/// What a job is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// A new id.
    pub id: String,
    /// How commands are started on nodes.
    pub transport: TransportKind,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The arguments of `run` on every node.
    pub arguments: Vec<String>,
    /// The program that nodes execute.
    pub binary: Binary,
    /// Limits.
    pub effort: Effort,
}
