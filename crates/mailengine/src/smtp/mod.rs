//! The protocol, without input or output: addresses, replies, commands, and how a message goes over the wire.

pub mod address;
pub mod auth;
pub mod command;
pub mod data;
pub mod reply;
