//! SMTP without input or output: addresses, commands, replies, the client's session, and the wire form of messages.
//!
//! The crate opens no file and no socket: callers pass in received bytes, and send the bytes that are returned.

pub mod address;
pub mod auth;
pub mod command;
pub mod data;
pub mod extensions;
pub mod reply;
pub mod security;
pub mod session;
pub mod transaction;
pub mod unstuffing;
