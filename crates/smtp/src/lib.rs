//! SMTP without input or output: addresses, commands, replies, the client's session, and the wire form of messages.
//!
//! Nothing here opens a file or a socket: callers pass in the bytes that arrived and send the bytes that are returned.

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
