//! Restores the state of a delivery from the journal of earlier runs.

use super::Dispatcher;
use crate::error::SendError;
use crate::journal::EventKind;
use crate::options::DeliveryOptions;

/// What the journal says of a recipient.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    attempts: u16,
    last: Option<EventKind>,
    /// Whether a server may have accepted the message without a reply.
    is_uncertain: bool,
    /// Whether the message was sent again after that.
    is_repeated: bool,
}

impl Dispatcher {
    /// Applies the journal's events to queue and tally, and records invalid addresses as failed.
    pub(super) fn restore(&mut self, options: &DeliveryOptions) -> Result<(), SendError> {
        let list = &options.list;
        let mut known: Vec<Known> = vec![Known::default(); list.len()];
        let (tally, in_flight) = (&mut self.tally, &mut self.in_flight_before);
        if let Some(journal) = &self.journal {
            journal.history(|entry| {
                let Some(one) = known.get_mut(entry.recipient as usize) else { return };
                if entry.kind == EventKind::Server {
                    return; // no event of the recipient
                }
                let Known { attempts, last, is_uncertain, is_repeated } = one;
                if matches!(entry.kind, EventKind::Uncertain | EventKind::Delivered) {
                    let was_repeated = std::mem::replace(is_repeated, *is_uncertain);
                    tally.repeated += u32::from(*is_uncertain && !was_repeated);
                    *is_uncertain |= entry.kind == EventKind::Uncertain;
                } else if *is_uncertain {
                    tally.possibly_delivered.add(entry.kind);
                }
                let is_attempt = matches!(entry.kind, EventKind::Deferred | EventKind::Uncertain);
                // Two sendings without a result in between: the process was killed during the first one.
                let was_cut = entry.kind == EventKind::Sending && *last == Some(EventKind::Sending);
                *in_flight += u32::from(was_cut);
                *attempts = attempts.saturating_add(u16::from(is_attempt || was_cut));
                *last = Some(entry.kind);
                // The journal's text for an invalid address begins with the line of the list.
                let is_bad = list.bad_numbers().binary_search(&entry.recipient).is_ok();
                let why = entry.why.split_once(": ").filter(|_| is_bad);
                tally.count(None, entry.kind, why.map_or(&*entry.why, |(_, reason)| reason));
            })?;
        }
        for (number, line, reason) in list.bad() {
            if known[number as usize].last.is_none() {
                let why = format!("line {line}: {reason}");
                self.tally.count(None, EventKind::Failed, &reason);
                if let Some(journal) = &mut self.journal {
                    journal.record(number, EventKind::Failed, &why);
                }
            }
        }
        for recipient in 0..u32::try_from(list.deliverable()).unwrap_or(u32::MAX) {
            let (domain, number) = list.at(recipient);
            let Known { attempts, last: Some(last), is_uncertain, is_repeated } =
                known[number as usize]
            else {
                continue;
            };
            self.queue.restore_uncertain(recipient, is_uncertain, is_repeated);
            let was_in_flight = last == EventKind::Sending;
            self.in_flight_before += u32::from(was_in_flight);
            let attempts = attempts.saturating_add(u16::from(was_in_flight));
            self.queue.restore(recipient, attempts, last.is_final());
            self.tally.domains[domain].add(last);
        }
        Ok(())
    }
}
