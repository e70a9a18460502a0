//! A queue of timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Timers, each with a key. A timer cannot be removed before it is due: the owner checks whether its key is still valid.
#[derive(Debug)]
pub struct TimerQueue<K> {
    first: BinaryHeap<Reverse<(Instant, K)>>,
}

impl<K: Ord> Default for TimerQueue<K> {
    fn default() -> Self {
        Self { first: BinaryHeap::new() }
    }
}

impl<K: Ord + Copy> TimerQueue<K> {
    /// Adds a timer.
    pub fn add(&mut self, at: Instant, key: K) {
        self.first.push(Reverse((at, key)));
    }

    /// The time of the next timer.
    pub fn next(&self) -> Option<Instant> {
        self.first.peek().map(|&Reverse((at, _))| at)
    }

    /// Removes a timer that is due; returns its key, if any timer is.
    pub fn due(&mut self, now: Instant) -> Option<K> {
        if self.next()? > now {
            return None;
        }
        self.first.pop().map(|Reverse((_, key))| key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn timers_are_due_in_their_order() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut timers = TimerQueue::default();
        timers.add(at(4), (7, 70));
        timers.add(at(2), (8, 80));
        assert_eq!((timers.due(at(1)), timers.next()), (None, Some(at(2))));
        assert_eq!((timers.due(at(4)), timers.due(at(4))), (Some((8, 80)), Some((7, 70))));
        assert_eq!(timers.due(at(4)), None);
    }
}
