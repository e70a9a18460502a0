//! Restores the state of a delivery from the journal of earlier runs.

use super::Dispatcher;
use crate::error::SendError;
use crate::journal::EventKind;
use crate::options::DeliveryOptions;

impl Dispatcher {
    /// Applies the journal's events to queue and tally, and records invalid addresses as failed.
    pub(super) fn restore(&mut self, options: &DeliveryOptions) -> Result<(), SendError> {
        let list = &options.list;
        let mut known: Vec<(u16, Option<EventKind>)> = vec![(0, None); list.len()];
        let (tally, in_flight) = (&mut self.tally, &mut self.in_flight_before);
        if let Some(journal) = &self.journal {
            journal.history(|entry| {
                let Some((attempts, last)) = known.get_mut(entry.recipient as usize) else {
                    return;
                };
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
            if known[number as usize].1.is_none() {
                let why = format!("line {line}: {reason}");
                self.tally.count(None, EventKind::Failed, &reason);
                if let Some(journal) = &mut self.journal {
                    journal.record(number, EventKind::Failed, &why);
                }
            }
        }
        for recipient in 0..u32::try_from(list.deliverable()).unwrap_or(u32::MAX) {
            let (domain, number) = list.at(recipient);
            let (attempts, Some(last)) = known[number as usize] else { continue };
            let was_in_flight = last == EventKind::Sending;
            self.in_flight_before += u32::from(was_in_flight);
            let attempts = attempts.saturating_add(u16::from(was_in_flight));
            self.queue.restore(recipient, attempts, last.is_final());
            self.tally.domains[domain].add(last);
        }
        Ok(())
    }
}
