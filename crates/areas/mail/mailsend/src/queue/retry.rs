//! Waiting times before a recipient or a destination is tried again.

use std::time::Duration;

/// Maximum number of counted attempts, after which a recipient is given up.
pub(super) const ATTEMPTS_AT_MOST: u16 = u16::MAX >> 1;

/// Times at which deferred recipients are retried, with exponential back-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Wait after the first attempt; doubled after each further one.
    pub after: Duration,
    /// Maximum wait.
    pub at_most: Duration,
    /// Limit on the sum of a recipient's waits, beyond which the recipient is given up.
    pub give_up: Duration,
}

impl Retry {
    /// The wait after `attempts` attempts, the first wait being `first`; `None` to give up.
    pub(super) fn wait(&self, attempts: u16, first: Duration) -> Option<Duration> {
        let at_most = self.at_most.max(Duration::from_millis(1));
        let mut next = first.min(at_most).max(Duration::from_millis(1));
        let (mut all, mut waits) = (next, 1);
        while waits < attempts && next < at_most {
            next = (next * 2).min(at_most);
            all += next;
            waits += 1;
        }
        all = all.saturating_add(next * u32::from(attempts.saturating_sub(waits)));
        (all <= self.give_up && attempts < ATTEMPTS_AT_MOST).then_some(next)
    }
}
