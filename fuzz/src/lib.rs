//! The parsers of `mailsend` that are fuzzed, compiled from that crate's files: without the database, TLS and the
//! network, which take minutes to build. The parsers of `smtp` need none of these, so the targets use that crate.

#![allow(dead_code, reason = "the targets do not use everything")]

#[path = "../../crates/areas/mail/mailsend/src/list/mod.rs"]
pub mod list;
#[path = "../../crates/areas/mail/mailsend/src/message/mod.rs"]
pub mod message;
