//! A mail transaction: return path, recipients, message (RFC 5321, section 3.3).

use std::sync::{Arc, OnceLock};

use crate::address::Address;
use crate::data;

/// A message in wire form.
#[derive(Debug)]
pub struct Message {
    wire: Vec<u8>,
    needs_8bit: bool,
    stuffed: OnceLock<Vec<u8>>,
}

impl Message {
    /// A message from `wire`, whose line ends are CRLF and whose leading dots are not doubled.
    pub fn new(wire: Vec<u8>) -> Self {
        let needs_8bit = data::needs_8bit(&wire);
        Self { wire, needs_8bit, stuffed: OnceLock::new() }
    }

    /// Size of the message in bytes, without dot-stuffing.
    pub fn size(&self) -> usize {
        self.wire.len()
    }

    /// Whether the message contains bytes beyond ASCII.
    pub fn needs_8bit(&self) -> bool {
        self.needs_8bit
    }

    /// The message as BDAT sends it.
    pub(crate) fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The message as DATA sends it: dot-stuffed, with the final dot. Computed once.
    pub(crate) fn stuffed(&self) -> &[u8] {
        self.stuffed.get_or_init(|| {
            let mut stuffed = Vec::with_capacity(self.wire.len() + 64);
            data::stuffed(&self.wire, &mut stuffed);
            stuffed
        })
    }
}

/// A recipient in the envelope of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeRecipient {
    /// The recipient's index in the sender's list.
    pub index: u32,
    /// The recipient's address.
    pub address: Address,
}

/// One message for some recipients of one server.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The return path; `None` is the null path `<>`, for a message that must not be returned.
    pub from: Option<Address>,
    /// The recipients; at least one.
    pub to: Vec<EnvelopeRecipient>,
    /// The message.
    pub message: Arc<Message>,
}
