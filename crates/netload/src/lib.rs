//! One small exchange over TCP, servers of every architecture that answer it, and the load generator
//! that drives them and checks what they say.
//!
//! [`serve`] has one file per architecture; [`load`] is the generator; [`Protocol`] is what they say.

pub mod hosted;
pub mod load;
mod protocol;
pub mod serve;

pub use protocol::{Kind, NoSuchProtocol, Protocol};
