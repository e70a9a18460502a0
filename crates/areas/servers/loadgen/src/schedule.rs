//! Schedules of exchanges.

/// The schedule of exchanges; times in ns of the generator's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoadSchedule {
    /// Closed loop: each of `target` connections begins its next exchange when the previous one is done.
    Closed { target: usize },
    /// Idle connections: `target` are open, after one exchange each if the client sends first.
    Hold { target: usize },
    /// Open loop: exchanges begin at scheduled times, on a limited number of connections.
    Open(Arrivals),
}

/// The scheduled times of an open loop, at equal distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    start: u64,
    distance: f64,
    taken: u64,
    /// The time from which on no exchanges are scheduled.
    end: u64,
    /// Maximum number of connections.
    pub most: usize,
}

/// The action of a connection after an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The connection begins the next exchange; in an open loop at its scheduled time.
    Begin(Option<u64>),
    /// The connection is idle until it is needed.
    Wait,
    /// The connection is closed: there are more connections than needed.
    Close,
}

impl LoadSchedule {
    /// The connection's next action, while `live` connections exist.
    pub fn next(&mut self, now: u64, live: usize) -> Next {
        match self {
            Self::Closed { target } | Self::Hold { target } if live > *target => Next::Close,
            Self::Closed { .. } => Next::Begin(None),
            Self::Hold { .. } => Next::Wait,
            Self::Open(arrivals) if live > arrivals.most => Next::Close,
            Self::Open(arrivals) => match arrivals.take(now) {
                Some(scheduled) => Next::Begin(Some(scheduled)),
                None => Next::Wait,
            },
        }
    }

    /// Number of connections to open before counting.
    pub fn target(&self) -> usize {
        match self {
            Self::Closed { target } | Self::Hold { target } => *target,
            Self::Open(_) => 0,
        }
    }
}

impl Arrivals {
    /// Schedules `per_second` exchanges each second, from `start` on.
    pub fn new(start: u64, per_second: f64, most: usize) -> Self {
        Self { start, distance: 1e9 / per_second, taken: 0, end: u64::MAX, most }
    }

    /// The scheduled time with number `number`.
    fn at(&self, number: u64) -> u64 {
        self.start + (number as f64 * self.distance) as u64
    }

    /// The next scheduled time that is not taken; `u64::MAX` if there is none.
    pub fn next(&self) -> u64 {
        let next = self.at(self.taken);
        if next < self.end { next } else { u64::MAX }
    }

    /// Takes the next scheduled time if it is due.
    pub fn take(&mut self, now: u64) -> Option<u64> {
        let next = self.next();
        (next <= now && next < u64::MAX).then(|| {
            self.taken += 1;
            next
        })
    }

    /// Number of scheduled times since `from` that are due and not taken.
    pub fn due(&self, from: u64, now: u64) -> u64 {
        let handled = self.taken.max(self.before(from));
        self.before(now.saturating_add(1).min(self.end)).saturating_sub(handled)
    }

    /// Number of scheduled times before `time`, taken or not.
    pub fn before(&self, time: u64) -> u64 {
        let Some(since) = time.checked_sub(self.start).filter(|&since| since > 0) else { return 0 };
        // The quotient may be off by one.
        let mut number = ((since as f64 / self.distance) as u64).saturating_sub(1);
        while self.at(number) < time {
            number += 1;
        }
        number
    }

    /// Schedules no exchanges from `end` on.
    pub fn stop(&mut self, end: u64) {
        self.end = self.end.min(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_times_keep_their_distance_however_late_they_are_taken() {
        let mut arrivals = Arrivals::new(1_000, 3.0, 1);
        assert_eq!(arrivals.take(999), None);
        let taken: Vec<_> = std::iter::from_fn(|| arrivals.take(1_000_001_000)).collect();
        assert_eq!(taken, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
        assert_eq!((arrivals.due(0, 1_000_001_000), arrivals.due(0, 1_700_000_000)), (0, 2));
        assert_eq!(
            [0, 1_000, 1_001, 333_334_333, 333_334_334].map(|at| arrivals.before(at)),
            [0, 0, 1, 1, 2]
        );
        assert_eq!(arrivals.due(1_500_000_000, 1_700_000_000), 1);
        arrivals.stop(1_500_000_000);
        assert_eq!(
            (arrivals.due(0, 9_000_000_000), arrivals.take(1_400_000_000)),
            (1, Some(1_333_334_333))
        );
        assert_eq!((arrivals.due(0, 9_000_000_000), arrivals.take(u64::MAX)), (0, None));
    }

    #[test]
    fn the_next_action_of_a_connection() {
        assert_eq!(LoadSchedule::Closed { target: 2 }.next(0, 2), Next::Begin(None));
        assert_eq!(LoadSchedule::Closed { target: 2 }.next(0, 3), Next::Close);
        assert_eq!(LoadSchedule::Hold { target: 2 }.next(0, 2), Next::Wait);
        let mut open = LoadSchedule::Open(Arrivals::new(5, 1.0, 2));
        assert_eq!(open.next(4, 2), Next::Wait);
        assert_eq!(open.next(9, 2), Next::Begin(Some(5)));
        assert_eq!(open.next(9, 2), Next::Wait);
        assert_eq!(open.next(9, 3), Next::Close);
    }
}
