//! When the next exchange is to begin.

/// What the generator is to do just now; times in ns of its clock.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plan {
    /// Each of so many connections begins its next exchange when the one before is done.
    Closed { target: usize },
    /// So many connections are there, and each has had an exchange if the client begins.
    Hold { target: usize },
    /// Exchanges begin at planned moments, on at most so many connections.
    Open(Moments),
}

/// Moments at the same distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    start: u64,
    distance: f64,
    taken: u64,
    /// Connections that may serve them.
    pub most: usize,
}

/// What becomes of a connection whose exchange is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next one begins; at that planned moment, in an open loop.
    Begin(Option<u64>),
    /// It waits until it is needed.
    Wait,
    /// It is one too many.
    Leave,
}

impl Plan {
    /// What a connection does next, of `live` ones.
    pub fn next(&mut self, now: u64, live: usize) -> Next {
        match self {
            Self::Closed { target } | Self::Hold { target } if live > *target => Next::Leave,
            Self::Closed { .. } => Next::Begin(None),
            Self::Hold { .. } => Next::Wait,
            Self::Open(moments) if live > moments.most => Next::Leave,
            Self::Open(moments) => match moments.take(now) {
                Some(moment) => Next::Begin(Some(moment)),
                None => Next::Wait,
            },
        }
    }

    /// How many connections there must be from the beginning.
    pub fn target(&self) -> usize {
        match self {
            Self::Closed { target } | Self::Hold { target } => *target,
            Self::Open(_) => 0,
        }
    }
}

impl Moments {
    /// From `start` on, `per_second` of them.
    pub fn new(start: u64, per_second: f64, most: usize) -> Self {
        Self { start, distance: 1e9 / per_second, taken: 0, most }
    }

    /// The next moment that nobody took.
    pub fn next(&self) -> u64 {
        self.start + (self.taken as f64 * self.distance) as u64
    }

    /// Takes the next moment if it is due.
    pub fn take(&mut self, now: u64) -> Option<u64> {
        let next = self.next();
        (next <= now).then(|| {
            self.taken += 1;
            next
        })
    }

    /// How many are due and not taken.
    pub fn due(&self, now: u64) -> u64 {
        match now.checked_sub(self.next()) {
            Some(late) => (late as f64 / self.distance) as u64 + 1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_keep_their_distance_however_late_they_are_taken() {
        let mut moments = Moments::new(1_000, 3.0, 1);
        assert_eq!(moments.take(999), None);
        let taken: Vec<_> = std::iter::from_fn(|| moments.take(1_000_001_000)).collect();
        assert_eq!(taken, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
        assert_eq!((moments.due(1_000_001_000), moments.due(1_700_000_000)), (0, 2));
    }

    #[test]
    fn what_a_connection_does_next() {
        assert_eq!(Plan::Closed { target: 2 }.next(0, 2), Next::Begin(None));
        assert_eq!(Plan::Closed { target: 2 }.next(0, 3), Next::Leave);
        assert_eq!(Plan::Hold { target: 2 }.next(0, 2), Next::Wait);
        let mut open = Plan::Open(Moments::new(5, 1.0, 2));
        assert_eq!(open.next(4, 2), Next::Wait);
        assert_eq!(open.next(9, 2), Next::Begin(Some(5)));
        assert_eq!(open.next(9, 2), Next::Wait);
        assert_eq!(open.next(9, 3), Next::Leave);
    }
}
