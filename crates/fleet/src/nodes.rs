//! The nodes of a job: names, and options of `run` for single ones.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::FleetError;

/// Maximum number of nodes of a job.
const NODES_AT_MOST: usize = 100_000;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name: a host as ssh knows it, or a node of Slurm.
    pub name: String,
    /// Further options of `run` for this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// Nodes with these names.
///
/// # Errors
/// If there is none, one occurs twice, or a name cannot be one of a host.
pub fn nodes_of(names: &[String]) -> Result<Vec<Node>, FleetError> {
    let node = |name: &String| Node { name: name.clone(), arguments: Vec::new() };
    checked(names.iter().map(node).collect())
}

/// Reads a host file: in each line a host and options of `run` for it, as in `n7 --dir /scratch`; `#` begins a comment.
///
/// # Errors
/// Those of [`nodes_of`], and a line with an open quote.
pub fn parse_host_file(text: &str) -> Result<Vec<Node>, FleetError> {
    let mut nodes = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(mut words) = shlex::split(line) else {
            return Err(FleetError::Usage(format!("line {}: a quote is not closed", index + 1)));
        };
        if !words.is_empty() {
            let name = words.remove(0);
            nodes.push(Node { name, arguments: words });
        }
    }
    checked(nodes)
}

fn checked(nodes: Vec<Node>) -> Result<Vec<Node>, FleetError> {
    let wrong = |text: String| Err(FleetError::Usage(text));
    let mut seen = BTreeSet::new();
    for Node { name, .. } in &nodes {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
            return wrong(format!(
                "{name:?} is not the name of a node: letters, digits and . _ - @ (other addresses are given names in ssh's \
                 configuration)"
            ));
        }
        if !seen.insert(name) {
            return wrong(format!("the node {name} is named twice"));
        }
    }
    match nodes.len() {
        0 => wrong("no node is named".to_owned()),
        count if count > NODES_AT_MOST => {
            wrong(format!("{count} nodes are more than {NODES_AT_MOST}, the limit of a job"))
        }
        _ => Ok(nodes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_file_has_a_host_a_line_and_its_options() {
        let nodes = parse_host_file("# all\na\n\nroot@b.c --dir '/a b' # slow\n").unwrap();
        assert_eq!(nodes[0], Node { name: "a".into(), arguments: vec![] });
        assert_eq!(nodes[1].name, "root@b.c");
        assert_eq!(nodes[1].arguments, ["--dir", "/a b"]);
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for (text, message) in [
            ("", "no node is named"),
            ("a\na", "the node a is named twice"),
            ("-oProxyCommand=x", "is not the name of a node"),
            ("a;b", "is not the name of a node"),
            ("../a", "is not the name of a node"),
            ("a 'b", "line 1: a quote is not closed"),
        ] {
            let error = parse_host_file(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
