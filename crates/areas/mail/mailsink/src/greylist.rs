//! Greylisting: new recipients are deferred for some time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Maximum number of remembered recipients; further ones are not deferred.
const REMEMBERED_AT_MOST: usize = 1_000_000;

/// Hashes of recipients, with the time of their first RCPT.
#[derive(Debug)]
pub struct Greylist {
    time: Duration,
    seen: HashMap<u64, Instant>,
}

impl Greylist {
    /// A greylist that defers new recipients for `time`.
    pub fn new(time: Duration) -> Self {
        Self { time, seen: HashMap::new() }
    }

    /// Whether a recipient is deferred now.
    pub fn defers(&mut self, recipient: &str, now: Instant) -> bool {
        let mut hasher = DefaultHasher::new();
        recipient.hash(&mut hasher);
        let key = hasher.finish();
        match self.seen.get(&key) {
            Some(&first) => now.saturating_duration_since(first) < self.time,
            None if self.seen.len() >= REMEMBERED_AT_MOST => false,
            None => {
                self.seen.insert(key, now);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greylisting_defers_for_its_time_only() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut greylist = Greylist::new(Duration::from_secs(10));
        assert!(greylist.defers("a@x", at(0)));
        assert!(greylist.defers("a@x", at(9)) && greylist.defers("b@x", at(9)));
        assert!(!greylist.defers("a@x", at(10)) && greylist.defers("b@x", at(10)));
    }
}
