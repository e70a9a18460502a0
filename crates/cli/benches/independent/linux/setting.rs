//! CPUs and duration of a plain loop, and functions that repeat its operations.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::linux::calls::{cpus_allowed, pin, switches_of_thread};

/// Time for which operations are repeated before they are timed.
const WARM_UP: Duration = Duration::from_millis(50);
/// Approximate time between two clock reads.
const BETWEEN_READINGS: Duration = Duration::from_millis(1);

/// Result of a plain loop.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    /// Elapsed CLOCK_MONOTONIC time.
    pub elapsed: Duration,
    /// Number of operations in that time.
    pub operations: u64,
    /// Number of context switches of the measuring thread in that time.
    pub switches: u64,
}

impl Timed {
    /// The result if each call made `count` operations.
    pub fn times(self, count: u64) -> Self {
        Self { operations: self.operations * count, ..self }
    }

    /// The time of one operation in ns.
    pub fn ns(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.operations as f64
    }
}

/// CPUs, duration and folder of a plain loop.
pub struct Setting {
    cpus: Vec<usize>,
    length: Duration,
    folder: PathBuf,
}

impl Setting {
    /// Pins the calling thread to the last CPU that it may use, as oscost does. `folder` exists and is empty.
    pub fn new(length: Duration, folder: PathBuf) -> Self {
        let setting = Self { cpus: cpus_allowed(), length, folder };
        pin(&[setting.last_cpu()]);
        setting
    }

    /// All CPUs that the process may use.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The CPU of the measuring thread.
    pub fn last_cpu(&self) -> usize {
        *self.cpus.last().expect("a thread that runs may use a CPU")
    }

    /// CPU of worker `number` of several: the last one, the one before, and so on.
    pub fn cpu_of_worker(&self, number: usize) -> usize {
        self.cpus[self.cpus.len() - 1 - number % self.cpus.len()]
    }

    /// Time for which operations are timed.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// An empty folder in the directory for temporary files, which is removed later.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Repeats `operation` for the length of a loop, after a warm-up. The code calls it in one place, so that a short operation
    /// is compiled into the loop.
    #[inline(always)]
    pub fn repeat(&self, mut operation: impl FnMut()) -> Timed {
        let (mut operations, mut between) = (0, 1);
        let (mut warm, mut switches_before) = (false, 0);
        let mut began = Instant::now();
        loop {
            for _ in 0..between {
                operation();
            }
            operations += between;
            let elapsed = began.elapsed();
            if warm && elapsed >= self.length {
                return Timed {
                    elapsed,
                    operations,
                    switches: switches_of_thread() - switches_before,
                };
            }
            if !warm {
                let each = elapsed.as_nanos() as u64 / operations;
                between = (BETWEEN_READINGS.as_nanos() as u64 / each.max(1)).max(1);
                if elapsed >= WARM_UP {
                    (warm, operations) = (true, 0);
                    switches_before = switches_of_thread();
                    began = Instant::now();
                }
            }
        }
    }

    /// Times `operations`, which makes `count` operations, once and without a warm-up: in the state of a fresh process.
    pub fn once(&self, count: u64, operations: impl FnOnce()) -> Timed {
        let (before, began) = (switches_of_thread(), Instant::now());
        operations();
        let elapsed = began.elapsed();
        Timed { elapsed, operations: count, switches: switches_of_thread() - before }
    }

    /// Repeats `operations` until the times that it returns add up to the length of a loop. It times a part of its work, and
    /// returns that time and the number of operations in it. The first call is the warm-up.
    pub fn repeat_parts(&self, mut operations: impl FnMut() -> (Duration, u64)) -> Timed {
        operations();
        let before = switches_of_thread();
        let mut timed = Timed { elapsed: Duration::ZERO, operations: 0, switches: 0 };
        let began = Instant::now();
        // The limit on the elapsed time is needed because the untimed part may take longer than the timed one.
        while timed.elapsed < self.length && began.elapsed() < self.length * 4 {
            let (elapsed, count) = operations();
            timed.elapsed += elapsed;
            timed.operations += count;
        }
        Timed { switches: switches_of_thread() - before, ..timed }
    }
}
