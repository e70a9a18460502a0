//! The CPU that single measurements are made on: kept awake between them, and watched for quiet moments.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::survey::ClockFacts;
use measure::watch::{Watch, Watcher};
use platform::cpu::pin_thread;
use platform::kept_awake::KeptAwake;

/// How long a round may wait for a quiet moment, and how long all may wait together for the time that such rounds took.
const WAIT_AT_MOST: Duration = Duration::from_millis(250);
const WAITING_PER_ROUND_TIME: f64 = 1.5;
/// How long they may wait in addition.
const WAITING_TO_BEGIN_WITH: Duration = Duration::from_secs(1);

/// The measuring CPU of a run.
pub(crate) struct MeasuringCpu {
    watched: Option<(KeptAwake, Watch)>,
    /// Whether a round is in progress.
    is_measured: Cell<bool>,
    /// How long rounds may wait until others have earned more.
    patience: Cell<Duration>,
    /// How long they may still wait in all.
    left: Cell<Duration>,
}

impl MeasuringCpu {
    /// The last of these CPUs, of which there is one at least; rounds may wait for so long in all. It is kept awake from now on,
    /// unless that would use up a quota of CPU time. The calling thread moves to the first one.
    pub(crate) fn of(cpus: &[usize], clock: &ClockFacts, waiting: Duration) -> Self {
        let cpu = cpus.last().copied().unwrap_or(0);
        let own = cpus.first().copied().filter(|&first| first != cpu);
        let watched = || {
            let mut watcher = Watcher::new(clock)?;
            let watch = watcher.watch();
            let awake = KeptAwake::new(cpu, own.unwrap_or(cpu), move || watcher.look())?;
            Some((awake, watch))
        };
        let has_quota = platform::environment::has_cpu_quota();
        let watched = if has_quota { None } else { watched() };
        let (is_measured, patience) = (Cell::new(true), Cell::new(WAITING_TO_BEGIN_WITH));
        let left = Cell::new(waiting);
        let measuring = Self { watched, is_measured, patience, left };
        if let Some(own) = own {
            let _ = pin_thread(own);
        }
        measuring.ended();
        measuring
    }

    /// Waits until the CPU is quiet, for a limited time; returns how long.
    pub(crate) fn await_quiet(&self, stop: &AtomicBool) -> Duration {
        const LOOK_EVERY: Duration = Duration::from_micros(300);
        let Some((_, watch)) = &self.watched else { return Duration::ZERO };
        let limit = WAIT_AT_MOST.min(self.patience.get()).min(self.left.get());
        let began = Instant::now();
        while !watch.is_quiet() && began.elapsed() < limit && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
        let waited = began.elapsed();
        self.patience.set(self.patience.get().saturating_sub(waited));
        self.left.set(self.left.get().saturating_sub(waited));
        waited
    }

    /// Lets later rounds wait in proportion to the time that one took.
    pub(crate) fn earn_patience(&self, took: Duration) {
        self.patience.set(self.patience.get() + took.mul_f64(WAITING_PER_ROUND_TIME));
    }

    /// The round has started: the CPU is left to it. Its worker was started on another one, and comes by itself: if it was
    /// started here, beside other programs, reading a CPU-time clock had a second mode, 60 % slower.
    pub(crate) fn started(&self) {
        self.is_measured.set(true);
        if let Some((awake, _)) = &self.watched {
            awake.leave_alone();
        }
    }

    /// The round has ended, if there was one.
    pub(crate) fn ended(&self) {
        if self.is_measured.replace(false)
            && let Some((awake, watch)) = &self.watched
        {
            watch.forget();
            awake.keep_busy();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the rounds of these tests may wait in all.
    const ALL: Duration = Duration::from_millis(1_030);

    fn measuring() -> MeasuringCpu {
        let clock = measure::survey::survey().remove(0);
        let measuring = MeasuringCpu::of(&platform::cpu::allowed(), &clock, ALL);
        measuring.started();
        let forget = |(_, watch): &(KeptAwake, Watch)| watch.forget();
        measuring.watched.iter().for_each(forget); // what it has seen until then
        measuring
    }

    #[test]
    fn rounds_wait_as_long_as_earlier_ones_have_earned() {
        let (measuring, stop) = (measuring(), AtomicBool::new(false));
        if measuring.watched.is_none() {
            return testing::not_applicable("no thread can be given the idle priority here");
        }
        let mut waited = Duration::ZERO;
        for _ in 0..20 {
            waited += measuring.await_quiet(&stop);
        }
        assert!(waited >= WAITING_TO_BEGIN_WITH, "{waited:?}");
        assert_eq!(measuring.patience.get(), Duration::ZERO);
        measuring.earn_patience(Duration::from_millis(10));
        assert_eq!(measuring.patience.get(), Duration::from_millis(15));
        assert!(measuring.await_quiet(&stop) >= Duration::from_millis(15));
        assert_eq!(measuring.patience.get(), Duration::ZERO);
        // Nor longer than all together may.
        measuring.earn_patience(Duration::from_secs(60));
        while !measuring.left.get().is_zero() {
            measuring.await_quiet(&stop);
        }
        assert!(!measuring.patience.get().is_zero());
    }

    #[test]
    fn a_request_to_stop_ends_the_wait() {
        let (measuring, stop) = (measuring(), AtomicBool::new(true));
        measuring.await_quiet(&stop);
        assert!(!measuring.patience.get().is_zero());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_coordinator_is_beside_the_measuring_cpu() {
        let cpus = platform::cpu::allowed();
        let [first, .., _] = cpus[..] else {
            return testing::not_applicable("there is one CPU only");
        };
        std::thread::spawn(move || {
            let clock = measure::survey::survey().remove(0);
            let _measuring = MeasuringCpu::of(&cpus, &clock, ALL);
            assert_eq!(platform::cpu::allowed(), [first]);
        })
        .join()
        .unwrap();
    }
}
