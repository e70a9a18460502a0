//! What the fuzz targets need of this crate: messages of a node, and the journal.

use crate::journal::{Row, in_order, rows_of};
use crate::nodes::Node;
use crate::order::Message;

/// A line of a node, which must mean the same when it is written again; `None` if it is no message.
pub fn message(line: &str) -> Option<String> {
    let message = Message::parse(line)?;
    let mut again = Vec::new();
    message.write(&mut again).expect("memory is written");
    let again = std::str::from_utf8(&again).expect("JSON is UTF-8");
    assert_eq!(Message::parse(again).as_ref(), Some(&message));
    assert_eq!(again.find('\n'), Some(again.len() - 1));
    Some(format!("{message:?}"))
}

/// The rows that a journal makes.
pub fn rows(journal: &str, nodes: &[Node]) -> Vec<Row> {
    in_order(&rows_of(journal, nodes), nodes)
}
