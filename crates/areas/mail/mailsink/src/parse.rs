//! The error of parsing an option.

/// An option of the sink is malformed; the text describes the syntax.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseOptionError(pub(crate) String);
