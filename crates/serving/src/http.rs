//! Messages of HTTP/1.1 (RFC 9112) without I/O: requests for the servers, which discard their content, and the heads and
//! chunks of replies for the load generator. Lines and fields are parsed by httparse.

mod chunked;
mod fields;
mod reply;
mod request;

pub use chunked::Chunked;
pub use reply::{Delimited, ReplyError, ReplyHead};
pub use request::{Event, Persistence, Refusal, Request, Requests};

/// Maximum length of a request's head, of its trailer section, and of a line between chunks, in bytes: RFC 9110, section 4.1,
/// recommends at least 8000 for the request's target.
pub const HEAD_AT_MOST: usize = 8 * 1024;
/// Maximum number of fields of a message.
const FIELDS_AT_MOST: usize = 64;

/// The framing of a message is wrong: it is unknown where the message ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misframed {
    /// A length is no number, or two lengths differ (RFC 9112, section 6.3, item 5).
    #[error("its Content-Length is no single number")]
    Length,
    /// Chunks are malformed (RFC 9112, section 7.1).
    #[error("its chunks are malformed")]
    Chunks,
    /// HTTP/1.0 has no transfer codings (RFC 9112, section 6.1).
    #[error("it is HTTP/1.0 with Transfer-Encoding")]
    OldWithEncoding,
}
