//! The bytes that a session has to send.

use std::sync::Arc;

use crate::transaction::Message;

/// Maximum size in bytes of a message that is copied into the output of each connection.
pub(super) const COPIED_AT_MOST: usize = 32 * 1024;

/// Bytes that were written and not sent yet.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Number of `bytes` that were sent.
    sent: usize,
    /// A long message after `bytes`; nothing more is written before it is sent.
    long: Option<LongMessage>,
}

/// A long message being sent, whose memory all connections share.
struct LongMessage {
    message: Arc<Message>,
    is_stuffed: bool,
    sent: usize,
}

impl LongMessage {
    fn rest(&self) -> &[u8] {
        let whole = if self.is_stuffed { self.message.stuffed() } else { self.message.wire() };
        &whole[self.sent..]
    }
}

impl Output {
    /// The bytes to send next.
    pub fn unsent(&self) -> &[u8] {
        match &self.long {
            Some(long) if self.bytes.is_empty() => long.rest(),
            _ => &self.bytes[self.sent..],
        }
    }

    /// Records that the first `count` bytes of [`Output::unsent`] were sent. Returns whether they ended a long
    /// message, so that more can be written.
    pub fn advance(&mut self, count: usize) -> bool {
        if self.bytes.is_empty()
            && let Some(long) = &mut self.long
        {
            long.sent += count;
            let is_sent = long.rest().is_empty();
            if is_sent {
                self.long = None;
            }
            return is_sent;
        }
        self.sent += count;
        debug_assert!(self.sent <= self.bytes.len());
        if self.sent == self.bytes.len() {
            self.sent = 0;
            self.bytes.clear();
            // Without this a large message would occupy memory as long as the connection lives.
            self.bytes.shrink_to(4 * 1024);
        }
        false
    }

    /// Whether no commands wait to be sent, apart from a long message.
    pub fn has_no_commands(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a long message waits to be sent.
    pub fn has_long_message(&self) -> bool {
        self.long.is_some()
    }

    /// The buffer into which commands are written.
    pub fn commands(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends a message, dot-stuffed for DATA or plain for BDAT.
    pub fn append_message(&mut self, message: &Arc<Message>, is_stuffed: bool) {
        let long = LongMessage { message: Arc::clone(message), is_stuffed, sent: 0 };
        if long.rest().len() > COPIED_AT_MOST {
            self.long = Some(long);
        } else {
            self.bytes.extend_from_slice(long.rest());
        }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.long = None;
    }
}
