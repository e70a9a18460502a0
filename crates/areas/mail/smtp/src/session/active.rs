//! A transaction in progress and the results for its recipients so far.

use std::sync::Arc;

use super::event::{DeliveryStatus, Outcome};
use crate::reply::Reply;
use crate::transaction::Transaction;

/// A transaction in progress.
#[derive(Debug)]
pub(super) struct ActiveTransaction {
    pub transaction: Transaction,
    /// The result for each recipient; `None` while it is not known.
    statuses: Vec<Option<(DeliveryStatus, Arc<str>)>>,
    /// Number of recipients that the server accepted.
    pub accepted: usize,
    /// Whether the server has replied to MAIL; else it has not looked at any recipient.
    pub is_mail_answered: bool,
    /// Whether the server rejected MAIL: its replies to the pipelined RCPT commands carry no information.
    pub is_rejected: bool,
    pub progress: Progress,
}

/// The part of a transaction that was written to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    NotStarted,
    /// MAIL, and maybe some or all RCPT commands.
    Envelope,
    /// All of it, up to the end of the message, or RSET in its place: only the reply is missing.
    Complete,
}

impl ActiveTransaction {
    pub fn new(transaction: Transaction) -> Self {
        Self {
            statuses: vec![None; transaction.to.len()],
            accepted: 0,
            is_mail_answered: false,
            is_rejected: false,
            progress: Progress::NotStarted,
            transaction,
        }
    }

    /// The numbers, within the transaction, of the recipients without a result.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        let statuses = self.statuses.iter().enumerate();
        statuses.filter_map(|(number, status)| status.is_none().then_some(number))
    }

    /// The indexes of the recipients without a result.
    pub fn open_indexes(&self) -> Vec<u32> {
        self.open().map(|number| self.transaction.to[number].index).collect()
    }

    /// Sets the result of all recipients that have none yet.
    pub fn settle_rest(&mut self, status: DeliveryStatus, why: &Arc<str>) {
        for open in self.statuses.iter_mut().filter(|status| status.is_none()) {
            *open = Some((status, Arc::clone(why)));
        }
    }

    /// Fails the recipients whose addresses need SMTPUTF8, for a server that does not offer it.
    pub fn fail_beyond_ascii(&mut self) {
        for (to, status) in self.transaction.to.iter().zip(&mut self.statuses) {
            if to.address.needs_smtputf8() {
                let why = "the address is beyond ASCII, and the server has no SMTPUTF8";
                *status = Some((DeliveryStatus::Failed, why.into()));
            }
        }
    }

    /// Applies the reply to RCPT for recipient `number`.
    pub fn rcpt_answered(&mut self, number: usize, reply: &Reply) {
        if self.is_rejected {
            return;
        }
        if reply.is_positive() {
            self.accepted += 1;
            return;
        }
        // The server limits the recipients of a transaction. 552 means the same (RFC 5321, section 4.5.3.1.10), and so
        // does the detail 5.3, whatever its class (RFC 3463, section 3.6).
        let is_limit = matches!(reply.code, 452 | 552)
            || reply.enhanced().is_some_and(|code| code.ends_with(".5.3"));
        let is_full = is_limit && self.accepted > 0;
        let status = if is_full { DeliveryStatus::Requeued } else { DeliveryStatus::of(reply) };
        self.statuses[number] = Some((status, reply.to_string().into()));
    }

    pub fn outcomes(self) -> impl Iterator<Item = Outcome> {
        let statuses = self.transaction.to.into_iter().zip(self.statuses);
        statuses.filter_map(|(to, status)| {
            let (status, why) = status?;
            Some(Outcome { recipient: to.index, status, why })
        })
    }
}
