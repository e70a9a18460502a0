//! The protocol, without input or output: addresses, replies, commands, and how a message goes over the wire.

pub mod address;
// What the parsers can do without is left out where they are fuzzed alone: crates/mailengine/fuzz.
#[cfg(not(fuzzing))]
pub mod auth;
pub mod command;
pub mod data;
#[cfg(not(fuzzing))]
pub mod extensions;
pub mod reply;
#[cfg(not(fuzzing))]
pub mod session;
