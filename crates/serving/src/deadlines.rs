//! Until when each connection has time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Who is to be looked at when. A number is in here at most once, also when one connection after another
/// has it: a later one has more time, which is seen when the earlier one's is up.
#[derive(Debug, Default)]
pub struct Deadlines {
    first: BinaryHeap<Reverse<(Instant, usize)>>,
    has: Vec<bool>,
}

impl Deadlines {
    /// The connection of that number has time until `deadline`.
    pub fn add(&mut self, number: usize, deadline: Instant) {
        if self.has.len() <= number {
            self.has.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.has[number], true) {
            self.first.push(Reverse((deadline, number)));
        }
    }

    /// When somebody is to be looked at.
    pub fn next(&self) -> Option<Instant> {
        self.first.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// A connection whose time is up. `until` says how long that of a number has; `None` if there is none now.
    pub fn due(&mut self, now: Instant, until: impl Fn(usize) -> Option<Instant>) -> Option<usize> {
        while self.next().is_some_and(|deadline| deadline <= now) {
            let Reverse((_, number)) = self.first.pop()?;
            self.has[number] = false;
            match until(number) {
                Some(deadline) if deadline > now => self.add(number, deadline),
                Some(_) => return Some(number),
                None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_got_more_time_and_who_came_later_is_not_due_before() {
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut deadlines = Deadlines::default();
        deadlines.add(0, at(1));
        deadlines.add(1, at(2));
        deadlines.add(0, at(5)); // another with the same number
        assert_eq!(deadlines.next(), Some(at(1)));
        let until = |number| (number == 0).then_some(at(5));
        assert_eq!(deadlines.due(at(3), until), None);
        assert_eq!(deadlines.next(), Some(at(5)));
        assert_eq!(deadlines.due(at(5), until), Some(0));
        assert_eq!((deadlines.due(at(9), until), deadlines.next()), (None, None));
    }
}
