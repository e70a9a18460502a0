//! The parsers of mailengine, from its own files: without what they do not need, they are built in a minute.

#![allow(dead_code, reason = "the targets do not use everything")]

#[path = "../../src/list/mod.rs"]
pub mod list;
#[path = "../../src/message/mod.rs"]
pub mod message;
#[path = "../../src/smtp/mod.rs"]
pub mod smtp;
