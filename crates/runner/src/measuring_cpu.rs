//! The CPU that single measurements are made on: kept awake between them, and watched for quiet moments.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::survey::ClockFacts;
use measure::watch::{Watch, Watcher};
use platform::cpu::pin_thread;
use platform::kept_awake::KeptAwake;

/// How long a round may wait for a quiet moment, and how long all may wait together for each time that such rounds took.
const WAIT_AT_MOST: Duration = Duration::from_millis(250);
const WAITING_PER_ROUND_TIME: f64 = 1.5;
/// How long they may wait in addition.
const WAITING_TO_BEGIN_WITH: Duration = Duration::from_secs(1);

/// The measuring CPU of a run, and another one for the coordinator, if there is one.
pub(crate) struct MeasuringCpu {
    cpu: usize,
    /// The coordinator's own CPU; `None` if there is only one.
    own: Option<usize>,
    watched: Option<(KeptAwake, Watch)>,
    /// Whether a round is in progress.
    is_measured: Cell<bool>,
    /// How long rounds may still wait.
    patience: Cell<Duration>,
}

impl MeasuringCpu {
    /// The last of these CPUs, of which there is one at least. It is kept awake from now on, unless that would use up a quota of
    /// CPU time.
    pub(crate) fn of(cpus: &[usize], clock: &ClockFacts) -> Self {
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
        let measuring = Self { cpu, own, watched, is_measured, patience };
        measuring.move_away();
        measuring.ended();
        measuring
    }

    /// Waits until the CPU is quiet, for a limited time.
    pub(crate) fn await_quiet(&self, stop: &AtomicBool) {
        const LOOK_EVERY: Duration = Duration::from_micros(300);
        let Some((_, watch)) = &self.watched else { return };
        let (began, limit) = (Instant::now(), self.patience.get().min(WAIT_AT_MOST));
        while !watch.is_quiet() && began.elapsed() < limit && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
        self.patience.set(self.patience.get().saturating_sub(began.elapsed()));
    }

    /// Lets later rounds wait in proportion to the time that one took.
    pub(crate) fn earn_patience(&self, took: Duration) {
        self.patience.set(self.patience.get() + took.mul_f64(WAITING_PER_ROUND_TIME));
    }

    /// A round is about to start: a worker begins where it is started, so that the CPU does not idle in between.
    pub(crate) fn starting(&self) {
        if self.own.is_some() {
            let _ = pin_thread(self.cpu);
        }
    }

    /// The round has started: the CPU is left to it.
    pub(crate) fn started(&self) {
        self.is_measured.set(true);
        if let Some((awake, watch)) = &self.watched {
            awake.leave_alone();
            watch.forget();
        }
        self.move_away();
    }

    /// The round has ended, if there was one.
    pub(crate) fn ended(&self) {
        if self.is_measured.replace(false)
            && let Some((awake, _)) = &self.watched
        {
            awake.keep_busy();
        }
        // One that could not be started has left it there.
        self.move_away();
    }

    /// Moves the calling thread to its own CPU.
    fn move_away(&self) {
        if let Some(own) = self.own {
            let _ = pin_thread(own);
        }
    }
}
