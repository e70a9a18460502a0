//! When the event loop is to look at whom.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Until when each client has time. A place is in here at most once, so that a client who gets more time
/// costs nothing: that it has is seen when its first time is up.
#[derive(Debug, Default)]
pub struct Deadlines {
    first: BinaryHeap<Reverse<(Instant, usize)>>,
    has: Vec<bool>,
}

impl Deadlines {
    /// The client of that place has time until `deadline`, or an earlier one there had, and it more.
    pub fn add(&mut self, place: usize, deadline: Instant) {
        if self.has.len() <= place {
            self.has.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.has[place], true) {
            self.first.push(Reverse((deadline, place)));
        }
    }

    /// When somebody is to be looked at.
    pub fn next(&self) -> Option<Instant> {
        self.first.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// A place whose client's time is up. `until` says how long the one there has; `None` if there is none.
    pub fn due(&mut self, now: Instant, until: impl Fn(usize) -> Option<Instant>) -> Option<usize> {
        while self.next().is_some_and(|deadline| deadline <= now) {
            let Reverse((_, place)) = self.first.pop()?;
            self.has[place] = false;
            match until(place) {
                Some(deadline) if deadline > now => self.add(place, deadline),
                Some(_) => return Some(place),
                None => {}
            }
        }
        None
    }
}

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
    fn time_is_up_for_whom_it_is() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut deadlines = Deadlines::default();
        deadlines.add(0, at(1));
        deadlines.add(1, at(2));
        deadlines.add(0, at(5)); // another in its place
        assert_eq!(deadlines.next(), Some(at(1)));
        let until = |place| (place == 0).then_some(at(5));
        assert_eq!(deadlines.due(at(3), until), None);
        assert_eq!(deadlines.next(), Some(at(5)));
        assert_eq!(deadlines.due(at(5), until), Some(0));
        assert_eq!((deadlines.due(at(9), until), deadlines.next()), (None, None));

        let mut alarms = Alarms::default();
        alarms.add(at(4), 7, 70);
        alarms.add(at(2), 8, 80);
        assert_eq!((alarms.due(at(1)), alarms.next()), (None, Some(at(2))));
        assert_eq!((alarms.due(at(4)), alarms.due(at(4))), (Some((8, 80)), Some((7, 70))));
        assert_eq!(alarms.due(at(4)), None);
    }
}
