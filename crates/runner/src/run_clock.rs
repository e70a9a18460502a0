//! The time of a run: what its schedule counts as time.

use std::time::{Duration, Instant};

use crate::schedule::RunTime;

/// Tells a run's time, which never goes back.
pub(crate) struct RunClock {
    started: Instant,
    /// The time that was measured before the run was resumed.
    earlier: Duration,
    /// The time since `started` that does not count.
    excluded: Duration,
    /// The latest moment that was told.
    latest: RunTime,
}

impl RunClock {
    /// A run that begins, or goes on after it was measured for `earlier`.
    pub(crate) fn starting_at(earlier: Duration) -> Self {
        let latest = RunTime(earlier);
        Self { started: Instant::now(), earlier, excluded: Duration::ZERO, latest }
    }

    /// The present moment.
    pub(crate) fn now(&mut self) -> RunTime {
        self.at(self.started.elapsed())
    }

    /// The moment at which the process has measured for `elapsed`.
    pub(crate) fn at(&mut self, elapsed: Duration) -> RunTime {
        let now = RunTime((self.earlier + elapsed).saturating_sub(self.excluded));
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Leaves out time that has passed and was not spent on measuring.
    pub(crate) fn exclude(&mut self, time: Duration) {
        self.excluded += time;
    }

    /// It is now this moment at least: it was waited for, also if the system's clock stood still meanwhile.
    pub(crate) fn has_reached(&mut self, moment: RunTime) {
        self.latest = self.latest.max(moment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back_and_starts_of_systems_do_not_count() {
        let ms = Duration::from_millis;
        let mut clock = RunClock::starting_at(ms(500));
        assert_eq!(clock.at(ms(100)), RunTime(ms(600)));
        clock.exclude(ms(80));
        // What has been said remains.
        assert_eq!(clock.at(ms(110)), RunTime(ms(600)));
        assert_eq!(clock.at(ms(200)), RunTime(ms(620)));
        clock.has_reached(RunTime(ms(700)));
        assert_eq!(clock.at(ms(200)), RunTime(ms(700)));
        assert_eq!(clock.at(ms(400)), RunTime(ms(820)));
    }
}
