//! Deadlines of connections.

use std::time::Instant;

use crate::timers::TimerQueue;

/// The deadlines of the connections of an event loop, by slot. A postponed deadline needs no update: it is looked up when
/// the earlier one is due. Each slot has at most one entry, also for successive connections, since the later connection's
/// deadline is later.
#[derive(Debug, Default)]
pub struct Deadlines {
    timers: TimerQueue<usize>,
    has_timer: Vec<bool>,
}

impl Deadlines {
    /// Adds the deadline of the connection in a slot, unless the slot has an earlier one.
    pub fn add(&mut self, slot: usize, deadline: Instant) {
        if self.has_timer.len() <= slot {
            self.has_timer.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut self.has_timer[slot], true) {
            self.timers.add(deadline, slot);
        }
    }

    /// The time at which [`Deadlines::expired`] must be called.
    pub fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Removes and returns the slots of connections whose deadline has passed. `deadline_of` returns the current deadline
    /// of a slot, `None` if it has no connection.
    pub fn expired(
        &mut self,
        now: Instant,
        deadline_of: impl Fn(usize) -> Option<Instant>,
    ) -> Vec<usize> {
        let mut expired = Vec::new();
        while let Some(slot) = self.timers.due(now) {
            self.has_timer[slot] = false;
            match deadline_of(slot) {
                Some(deadline) if deadline > now => self.add(slot, deadline),
                Some(_) => expired.push(slot),
                None => {}
            }
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moved_deadlines_and_later_connections_expire_no_earlier() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut deadlines = Deadlines::default();
        deadlines.add(0, at(1));
        deadlines.add(1, at(2));
        deadlines.add(0, at(5)); // another connection in the same slot
        assert_eq!(deadlines.next(), Some(at(1)));
        let deadline_of = |slot| (slot == 0).then_some(at(5));
        assert!(deadlines.expired(at(3), deadline_of).is_empty());
        assert_eq!(deadlines.next(), Some(at(5)));
        assert_eq!(deadlines.expired(at(5), deadline_of), [0]);
        assert!(deadlines.expired(at(9), deadline_of).is_empty() && deadlines.next().is_none());
    }
}
