//! Errors of messages.

use thiserror::Error;

/// The reason why a message cannot be sent to a list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The message does not begin with a header.
    #[error(
        "the message has no header: it must begin with lines such as \"Subject: Hello\", then an empty line"
    )]
    NoHeader,
    /// A line of the header is not a field.
    #[error("line {line} of the message's header is no field such as \"Subject: Hello\": {text:?}")]
    Header {
        /// The line's number, from 1.
        line: usize,
        /// The beginning of the line.
        text: String,
    },
    /// A field of the header is not UTF-8.
    #[error("{name} in the message's header is not UTF-8")]
    Encoding {
        /// The name of the field.
        name: String,
    },
    /// The list has no column with the name of a placeholder.
    #[error(
        "{{{field}}} in {location}: the list has no such column, but {columns}. (Write {{{{{field}}} if these \
         braces are text.)"
    )]
    Unknown {
        /// The name between the braces.
        field: String,
        /// The place in the message.
        location: String,
        /// The columns of the list.
        columns: String,
    },
    /// [`super::Heads::list_unsubscribe`] is not a list of URIs in angle brackets.
    #[error(
        "List-Unsubscribe must be URIs in angle brackets, such as <https://x.test/u?{{id}}>, but is {0:?}"
    )]
    Unsubscribe(String),
    /// [`super::Heads::one_click`] without an https URI.
    #[error("one-click unsubscribing needs a List-Unsubscribe with an https URI (RFC 8058)")]
    OneClick,
    /// [`super::Heads::message_id_domain`] is not a domain.
    #[error("{0:?} cannot be the domain of Message-IDs")]
    MessageIdDomain(String),
}
