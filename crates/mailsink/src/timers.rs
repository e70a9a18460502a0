//! Timers of clients.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Timers of clients, at most one each. The timer of a closed client remains until it is due: the caller compares the
/// client's number.
#[derive(Debug, Default)]
pub struct Timers {
    first: BinaryHeap<Reverse<(Instant, usize, u64)>>,
}

impl Timers {
    /// Adds the timer of the client in this slot with this number.
    pub fn add(&mut self, at: Instant, slot: usize, number: u64) {
        self.first.push(Reverse((at, slot, number)));
    }

    /// When the next timer is due.
    pub fn next(&self) -> Option<Instant> {
        self.first.peek().map(|&Reverse((at, ..))| at)
    }

    /// Removes a timer that is due; returns slot and number.
    pub fn due(&mut self, now: Instant) -> Option<(usize, u64)> {
        if self.next()? > now {
            return None;
        }
        self.first.pop().map(|Reverse((_, slot, number))| (slot, number))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn alarms_go_off_in_their_order() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut alarms = Timers::default();
        alarms.add(at(4), 7, 70);
        alarms.add(at(2), 8, 80);
        assert_eq!((alarms.due(at(1)), alarms.next()), (None, Some(at(2))));
        assert_eq!((alarms.due(at(4)), alarms.due(at(4))), (Some((8, 80)), Some((7, 70))));
        assert_eq!(alarms.due(at(4)), None);
    }
}
