//! The clock of a run, by which its schedule counts time.

use std::time::{Duration, Instant};

use crate::schedule::RunTime;

/// The clock of a run, which never goes back.
pub(crate) struct RunClock {
    started: Instant,
    /// Time measured before the run was resumed.
    earlier: Duration,
    /// Time since `started` that does not count.
    excluded: Duration,
    /// The latest reading.
    latest: RunTime,
}

impl RunClock {
    /// The clock of a run that begins, or is resumed after `earlier`.
    pub(crate) fn starting_at(earlier: Duration) -> Self {
        let latest = RunTime(earlier);
        Self { started: Instant::now(), earlier, excluded: Duration::ZERO, latest }
    }

    /// The current time of the run.
    pub(crate) fn now(&mut self) -> RunTime {
        self.at(self.started.elapsed())
    }

    /// The time of the run when the process has measured for `elapsed`.
    pub(crate) fn at(&mut self, elapsed: Duration) -> RunTime {
        let now = RunTime((self.earlier + elapsed).saturating_sub(self.excluded));
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Excludes time that was not spent on measuring.
    pub(crate) fn exclude(&mut self, time: Duration) {
        self.excluded += time;
    }

    /// Advances the clock to at least `moment`, which was waited for: the system's clock may have stood still.
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
        // The clock keeps a reading that was given.
        assert_eq!(clock.at(ms(110)), RunTime(ms(600)));
        assert_eq!(clock.at(ms(200)), RunTime(ms(620)));
        clock.has_reached(RunTime(ms(700)));
        assert_eq!(clock.at(ms(200)), RunTime(ms(700)));
        assert_eq!(clock.at(ms(400)), RunTime(ms(820)));
    }
}
