//! Watches by the sentinel whether a CPU is quiet between measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sentinel::{Reading, Sentinel, TOLERANCE_BEYOND_CORE};
use crate::survey::ClockFacts;

/// Number of readings in a window, whose median ratios count: about 0.2 ms.
const WINDOW: usize = 16;
/// Number of windows within [`Lowest::BAND`] that make a level steady: a neighbour that pauses for less than 10 ms in all
/// leaves no quiet time to wait for.
const STEADY_WINDOWS: u32 = 50;
/// Number of quiet windows in a row after which the CPU counts as quiet.
const QUIET_WINDOWS: u32 = 3;

/// The present state of a watched CPU, shared between threads.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    quiet_in_a_row: Arc<AtomicU32>,
}

impl Watch {
    /// Whether the CPU has been quiet for the last half of a millisecond.
    pub fn is_quiet(&self) -> bool {
        self.quiet_in_a_row.load(Ordering::Relaxed) >= QUIET_WINDOWS
    }

    /// Adds a window.
    pub fn see(&self, is_quiet: bool) {
        let seen = &self.quiet_in_a_row;
        let in_a_row = if is_quiet { seen.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        seen.store(in_a_row, Ordering::Relaxed);
    }

    /// Forgets earlier windows, after a time in which the CPU was not watched.
    pub fn forget(&self) {
        self.quiet_in_a_row.store(0, Ordering::Relaxed);
    }
}

/// Watches the CPU of the calling thread.
pub struct Watcher {
    sentinel: Sentinel,
    alu: Lowest,
    chase: Lowest,
    watch: Watch,
}

impl Watcher {
    /// A watcher that reads the clock of `facts`; `None` if this system does not have it.
    pub fn new(facts: &ClockFacts) -> Option<Self> {
        let sentinel = Sentinel::new(facts.clock()?, facts);
        let (alu, chase) = (Lowest::default(), Lowest::default());
        Some(Self { sentinel, alu, chase, watch: Watch::default() })
    }

    /// The state that the watcher updates.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Reads the sentinel for one window, about 0.2 ms.
    pub fn look(&mut self) {
        let readings: Vec<Reading> = (0..WINDOW).map(|_| self.sentinel.read()).collect();
        let middle = |part: &dyn Fn(&Reading) -> f32| {
            let mut ratios: Vec<f32> = readings.iter().map(part).collect();
            ratios.sort_unstable_by(f32::total_cmp);
            ratios[WINDOW / 2]
        };
        let alu = self.alu.is_near(middle(&|reading| reading.ratios().alu));
        let chase = self.chase.is_near(middle(&|reading| reading.ratios().chase));
        self.watch.see(alu && chase);
    }
}

/// The lowest steady level of a ratio, in bounded memory: a histogram of the ratios.
struct Lowest {
    /// Counts by the logarithm of the ratio, in steps of half a percent from 0.1 on.
    seen: [u32; Self::SIZES],
}

impl Default for Lowest {
    fn default() -> Self {
        Self { seen: [0; Self::SIZES] }
    }
}

impl Lowest {
    const SIZES: usize = 1_024;
    const STEP: f32 = 0.005;
    const LEAST: f32 = 0.1;
    /// Number of steps that are one level: 1.5 %.
    const BAND: usize = 3;

    /// Adds a ratio; returns whether it is near the lowest steady level, or there is none.
    fn is_near(&mut self, ratio: f32) -> bool {
        if !(ratio > Self::LEAST && ratio.is_finite()) {
            return false;
        }
        let size = ((ratio / Self::LEAST).ln() / Self::STEP) as usize;
        let size = size.min(Self::SIZES - 1);
        self.seen[size] = self.seen[size].saturating_add(1);
        let tolerated = (TOLERANCE_BEYOND_CORE / Self::STEP) as usize;
        self.level().is_none_or(|level| size <= level + tolerated)
    }

    /// The lowest step at which a band has enough windows.
    fn level(&self) -> Option<usize> {
        let steady = |band: &[u32]| band.iter().sum::<u32>() >= STEADY_WINDOWS;
        self.seen.windows(Self::BAND).position(steady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_level_that_held_counts_and_single_slips_do_not() {
        let mut lowest = Lowest::default();
        // The first ratio is near, as no level is known yet.
        assert!(lowest.is_near(1.40));
        (0..200).for_each(|_| assert!(lowest.is_near(1.40)));
        // A single low ratio is ignored; quiet moments then become the level.
        assert!(lowest.is_near(0.30));
        (0..STEADY_WINDOWS).for_each(|_| assert!(lowest.is_near(0.76)));
        for (ratio, near) in
            [(0.76, true), (0.79, true), (0.83, false), (1.40, false), (f32::NAN, false)]
        {
            assert_eq!(lowest.is_near(ratio), near, "{ratio}");
        }
    }

    #[test]
    fn ratios_of_any_size_have_a_place() {
        let mut lowest = Lowest::default();
        for ratio in [0.0, -3.0, f32::INFINITY, f32::NAN, Lowest::LEAST] {
            assert!(!lowest.is_near(ratio), "{ratio}");
        }
        for ratio in [0.11, 1.0, 17.0, 1e9, f32::MAX] {
            assert!(lowest.is_near(ratio), "{ratio}");
        }
    }

    #[test]
    fn quiet_must_last_and_is_forgotten() {
        let watch = Watch::default();
        for (windows, is_quiet) in [(0, false), (QUIET_WINDOWS - 1, false), (QUIET_WINDOWS, true)] {
            watch.see(false);
            (0..windows).for_each(|_| watch.see(true));
            assert_eq!(watch.is_quiet(), is_quiet, "{windows}");
        }
        watch.forget();
        assert!(!watch.is_quiet());
    }

    #[test]
    fn a_watcher_finds_quiet_moments() {
        let facts = crate::survey::survey().remove(0);
        let mut watcher = Watcher::new(&facts).unwrap();
        let watch = watcher.watch();
        // A machine in any state returns to its own lowest level.
        assert!((0..50_000).any(|_| {
            watcher.look();
            watch.is_quiet()
        }));
    }
}
