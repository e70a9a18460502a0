//! Raw readings, nanoseconds, and a stopwatch.

use std::ops::Sub;

use platform::time::clock::{OsClock, os_clocks, tsc};
use serde::{Deserialize, Serialize};

/// A reading of a [`Clock`], in that clock's own unit: meaningful only relative to another reading of the same clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub u64);

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Nanoseconds(f64);

impl Nanoseconds {
    /// A span of `ns` nanoseconds.
    pub const fn new(ns: f64) -> Self {
        Self(ns)
    }

    /// The bare number, in nanoseconds.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Sub for Nanoseconds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// A clock to time with. Copying it is free; [`crate::survey`] measures the cost of a reading.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    Tsc { ns_per_tick: f64 },
    Os(OsClock),
}

impl Clock {
    /// The system's ordinary monotonic clock, which always exists.
    pub fn monotonic() -> Self {
        Self(Source::Os(os_clocks()[0]))
    }

    /// One of the system's clocks.
    pub fn of_os(clock: OsClock) -> Self {
        Self(Source::Os(clock))
    }

    /// The processor's time stamp counter, whose tick is `ns_per_tick`.
    pub fn of_tsc(ns_per_tick: f64) -> Self {
        Self(Source::Tsc { ns_per_tick })
    }

    /// The clock with the name `name`, as from [`Clock::name`]; `None` if this system has no such clock.
    pub fn by_name(name: &str, ns_per_tick: f64) -> Option<Self> {
        if name == "tsc" {
            return Some(Self::of_tsc(ns_per_tick));
        }
        os_clocks().iter().find(|clock| clock.name == name).map(|&clock| Self::of_os(clock))
    }

    /// The clock's name: `tsc`, or the system's name for it.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Source::Tsc { .. } => "tsc",
            Source::Os(clock) => clock.name,
        }
    }

    /// Nanoseconds of one tick.
    pub fn ns_per_tick(&self) -> f64 {
        match self.0 {
            Source::Tsc { ns_per_tick } => ns_per_tick,
            Source::Os(_) => 1.0,
        }
    }

    /// The current reading.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.0 {
            Source::Tsc { .. } => Ticks(tsc()),
            Source::Os(clock) => Ticks((clock.read)()),
        }
    }

    /// The time from one reading to a later one; zero if the clock went backwards.
    #[inline(always)]
    pub fn between(&self, from: Ticks, to: Ticks) -> Nanoseconds {
        Nanoseconds(to.0.saturating_sub(from.0) as f64 * self.ns_per_tick())
    }
}

/// A watch that measures one span of time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    clock: Clock,
    started: Ticks,
}

impl Stopwatch {
    /// Starts now, on [`Clock::monotonic`].
    #[inline]
    pub fn start() -> Self {
        Self::start_on(Clock::monotonic())
    }

    /// Starts now, on the given clock.
    #[inline]
    pub fn start_on(clock: Clock) -> Self {
        Self { clock, started: clock.now() }
    }

    /// The time since the start, including the cost of one clock reading; the watch continues.
    #[inline]
    pub fn elapsed(&self) -> Nanoseconds {
        self.clock.between(self.started, self.clock.now())
    }

    /// Stops the watch; returns the time since the start.
    #[inline]
    pub fn stop(self) -> Nanoseconds {
        self.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopwatch_measures_a_sleep_and_is_monotonic() {
        let watch = Stopwatch::start();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let first = watch.elapsed();
        let last = watch.stop();
        assert!(first.get() >= 5e6, "{first:?}");
        assert!(last >= first);
    }

    #[test]
    fn a_clock_is_found_by_its_name() {
        for &clock in os_clocks() {
            assert_eq!(Clock::by_name(clock.name, 1.0).unwrap().name(), clock.name);
        }
        assert_eq!(Clock::by_name("tsc", 0.4).unwrap().ns_per_tick(), 0.4);
        assert!(Clock::by_name("sundial", 1.0).is_none());
    }

    #[test]
    fn a_clock_that_went_back_gives_zero() {
        let clock = Clock::of_tsc(0.5);
        assert_eq!(clock.between(Ticks(10), Ticks(30)).get(), 10.0);
        assert_eq!(clock.between(Ticks(30), Ticks(10)).get(), 0.0);
    }
}
