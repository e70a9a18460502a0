//! Makes transactions of recipients: reads who they are, and fills in what they get.

use std::sync::Arc;

use super::{Plan, SendError};
use crate::list::{Reader, Recipient};
use crate::message::Seed;
use crate::smtp::address::verp;
use crate::smtp::session::{Message, To, Transaction};

/// Makes transactions; each thread has its own.
#[derive(Debug)]
pub struct Maker<'a> {
    plan: &'a Plan,
    reader: Reader,
    /// What all get, if they get the same.
    same: Option<Arc<Message>>,
}

impl<'a> Maker<'a> {
    /// A maker for a delivery; `same` is what [`Maker::same`] gave.
    pub fn new(plan: &'a Plan, same: Option<Arc<Message>>) -> Self {
        Self { plan, reader: plan.list.reader(), same }
    }

    /// The message, if all get the same: it is in memory once.
    ///
    /// # Errors
    /// If it cannot be signed.
    pub fn same(plan: &Plan) -> Result<Option<Arc<Message>>, SendError> {
        if plan.template.is_personal() {
            return Ok(None);
        }
        written(plan, None).map(|message| Some(Arc::new(message)))
    }

    /// A transaction for the recipients of these places.
    ///
    /// # Errors
    /// If the list cannot be read any more.
    pub fn make(&mut self, places: &[u32]) -> Result<Transaction, SendError> {
        let mut to = Vec::with_capacity(places.len());
        let mut last = None;
        for &place in places {
            let (_, number) = self.plan.list.at(place);
            let recipient = self.reader.record(number).map_err(SendError::List)?;
            to.push(To { place, address: recipient.address.clone() });
            last = Some(recipient);
        }
        let message = match &self.same {
            Some(same) => Arc::clone(same),
            // There is one recipient then.
            None => Arc::new(written(self.plan, last.as_ref())?),
        };
        let from = match (&self.plan.from, to.first()) {
            // Where the recipient's address is too long to be named, the bounce names nobody.
            (Some(from), Some(to)) if self.plan.verp => {
                Some(verp(from, &to.address).unwrap_or_else(|_| from.clone()))
            }
            (from, _) => from.clone(),
        };
        Ok(Transaction { from, to, message })
    }
}

/// What a recipient gets. It is the same when it is written again, down to its Message-ID.
fn written(plan: &Plan, recipient: Option<&Recipient>) -> Result<Message, SendError> {
    let number = recipient.map_or(0, |recipient| u64::from(recipient.number));
    let seed = Seed { run: &plan.run, number, date: &plan.date };
    let mut wire = Vec::new();
    plan.template.render(recipient, seed, &mut wire);
    if let Some(signer) = &plan.signer {
        let signature = signer.sign(&wire).map_err(|e| SendError::Message(e.to_string()))?;
        wire.splice(0..0, signature.into_bytes());
    }
    Ok(Message::new(wire))
}
