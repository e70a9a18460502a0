//! Builds transactions: reads the recipients from the list, and fills in the message.

use std::sync::Arc;

use crate::error::SendError;
use crate::list::{Reader, Recipient};
use crate::message::Seed;
use crate::options::DeliveryOptions;
use smtp::address::verp;
use smtp::transaction::{EnvelopeRecipient, Message, Transaction};

/// Builds transactions; each thread has its own builder.
#[derive(Debug)]
pub struct TransactionBuilder<'a> {
    options: &'a DeliveryOptions,
    reader: Reader,
    /// The message, if it is the same for all recipients.
    same: Option<Arc<Message>>,
}

impl<'a> TransactionBuilder<'a> {
    /// A builder for a delivery; `same` is the result of [`TransactionBuilder::same`].
    pub fn new(options: &'a DeliveryOptions, same: Option<Arc<Message>>) -> Self {
        Self { options, reader: options.list.reader(), same }
    }

    /// The message, if it is the same for all recipients, so that it is in memory once.
    ///
    /// # Errors
    /// If the message cannot be signed.
    pub fn same(options: &DeliveryOptions) -> Result<Option<Arc<Message>>, SendError> {
        if options.template.is_personal() {
            return Ok(None);
        }
        render(options, None).map(|message| Some(Arc::new(message)))
    }

    /// A transaction for the recipients with the given indexes.
    ///
    /// # Errors
    /// If the list cannot be read any more.
    pub fn build(&mut self, recipients: &[u32]) -> Result<Transaction, SendError> {
        let mut to = Vec::with_capacity(recipients.len());
        let mut last = None;
        for &index in recipients {
            let (_, number) = self.options.list.at(index);
            let recipient = self.reader.record(number).map_err(SendError::List)?;
            to.push(EnvelopeRecipient { index, address: recipient.address.clone() });
            last = Some(recipient);
        }
        let message = match &self.same {
            Some(same) => Arc::clone(same),
            // A personal message has one recipient per transaction.
            None => Arc::new(render(self.options, last.as_ref())?),
        };
        let from = match (&self.options.from, to.first()) {
            // The plain return path is used if the recipient's address is too long for VERP.
            (Some(from), Some(to)) if self.options.verp => {
                Some(verp(from, &to.address).unwrap_or_else(|_| from.clone()))
            }
            (from, _) => from.clone(),
        };
        Ok(Transaction { from, to, message })
    }
}

/// Renders the message for a recipient, or for all. Rendering is reproducible, including the Message-ID.
fn render(options: &DeliveryOptions, recipient: Option<&Recipient>) -> Result<Message, SendError> {
    let number = recipient.map_or(0, |recipient| u64::from(recipient.number));
    let seed = Seed { run: &options.run, number, date: &options.date };
    let mut wire = Vec::new();
    options.template.render(recipient, seed, &mut wire);
    if let Some(signer) = &options.signer {
        let signature = signer.sign(&wire).map_err(|e| SendError::Message(e.to_string()))?;
        wire.splice(0..0, signature.into_bytes());
    }
    Ok(Message::new(wire))
}
