//! When the event loop is to go on with whom.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// When clients are to be gone on with: each has one alarm at most. That of a client who went is
/// told when it is due; it is known by the client's number.
#[derive(Debug, Default)]
pub struct Alarms {
    first: BinaryHeap<Reverse<(Instant, usize, u64)>>,
}

impl Alarms {
    /// Wakes the client of that place and number then.
    pub fn add(&mut self, at: Instant, place: usize, number: u64) {
        self.first.push(Reverse((at, place, number)));
    }

    /// When the next is due.
    pub fn next(&self) -> Option<Instant> {
        self.first.peek().map(|&Reverse((at, ..))| at)
    }

    /// One that is due: place and number.
    pub fn due(&mut self, now: Instant) -> Option<(usize, u64)> {
        if self.next()? > now {
            return None;
        }
        self.first.pop().map(|Reverse((_, place, number))| (place, number))
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
        let mut alarms = Alarms::default();
        alarms.add(at(4), 7, 70);
        alarms.add(at(2), 8, 80);
        assert_eq!((alarms.due(at(1)), alarms.next()), (None, Some(at(2))));
        assert_eq!((alarms.due(at(4)), alarms.due(at(4))), (Some((8, 80)), Some((7, 70))));
        assert_eq!(alarms.due(at(4)), None);
    }
}
