//! CPUs and duration of a plain loop, and functions that repeat its operations.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::calls::{cpus_allowed, pin, switches_of_thread};

/// Approximate time between two clock reads, if there are no more than [`READINGS_AT_MOST`] in the length of a loop.
const BETWEEN_READINGS: Duration = Duration::from_millis(1);
/// Number of readings that are kept: an answer must not take long on a serial line.
const READINGS_AT_MOST: usize = 2000;
/// Times from the beginning of the warm-up whose means are kept.
const FIRST: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

/// Result of a plain loop.
#[derive(Debug, Clone)]
pub struct Timed {
    /// Elapsed CLOCK_MONOTONIC time.
    pub elapsed: Duration,
    /// Number of operations in that time.
    pub operations: u64,
    /// Number of context switches of the measuring thread in that time.
    pub switches: u64,
    /// Successive parts of that time, each with its number of operations.
    readings: Vec<(Duration, u64)>,
    /// Elapsed time and number of operations of the warm-up's first 1 ms and first 10 ms.
    first: [Option<(Duration, u64)>; 2],
}

impl Timed {
    /// A result without readings.
    pub fn new(elapsed: Duration, operations: u64, switches: u64) -> Self {
        Self { elapsed, operations, switches, readings: Vec::new(), first: [None; 2] }
    }

    /// The result if each call made `count` operations.
    pub fn times(mut self, count: u64) -> Self {
        let readings = self.readings.iter_mut().chain(self.first.iter_mut().flatten());
        readings.for_each(|(_, operations)| *operations *= count);
        Self { operations: self.operations * count, ..self }
    }

    /// The times of one operation.
    pub fn answer(&self) -> Answer {
        let each = |&(elapsed, operations): &(Duration, u64)| {
            elapsed.as_nanos() as f64 / operations.max(1) as f64
        };
        Answer {
            ns: each(&(self.elapsed, self.operations)),
            switches: self.switches as f64 / self.operations.max(1) as f64,
            first: self.first.map(|first| first.as_ref().map(each)),
            readings: self.readings.iter().map(|one| (each(one), one.1 as f64)).collect(),
        }
    }
}

/// CPUs, duration and folder of a plain loop.
pub struct Setting {
    cpus: Vec<usize>,
    length: Duration,
    warm_up: Duration,
    folder: PathBuf,
    program: PathBuf,
}

impl Setting {
    /// Pins the calling thread to the last CPU that it may use, as oscost does. `folder` exists and is empty; `program` is the
    /// file that operations open.
    pub fn new(length: Duration, warm_up: Duration, folder: PathBuf, program: PathBuf) -> Self {
        let setting = Self { cpus: cpus_allowed(), length, warm_up, folder, program };
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

    /// Path of the program that operations open.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// An empty folder in the directory for temporary files, which is removed later.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Repeats `operation` for the length of a loop, after a warm-up. The code calls it in one place, so that a short operation
    /// is compiled into the loop.
    #[inline(always)]
    pub fn repeat(&self, mut operation: impl FnMut()) -> Timed {
        let between_readings = BETWEEN_READINGS.max(self.length / READINGS_AT_MOST as u32);
        let (mut warm, mut switches_before, mut between) = (false, 0, 1);
        // Memory is reserved, so that readings allocate nothing.
        let mut readings = Vec::with_capacity(READINGS_AT_MOST);
        let (mut first, mut operations, mut until_last) = ([None; 2], 0, Duration::ZERO);
        let mut began = Instant::now();
        loop {
            for _ in 0..between {
                operation();
            }
            operations += between;
            let elapsed = began.elapsed();
            let since_last = elapsed - until_last;
            until_last = elapsed;
            if warm {
                if readings.len() < READINGS_AT_MOST {
                    readings.push((since_last, between));
                }
                if elapsed >= self.length {
                    let switches = switches_of_thread() - switches_before;
                    return Timed { elapsed, operations, switches, readings, first };
                }
            } else {
                for (first, least) in first.iter_mut().zip(FIRST) {
                    if elapsed >= least {
                        first.get_or_insert((elapsed, operations));
                    }
                }
                if elapsed >= self.warm_up {
                    (warm, operations, until_last) = (true, 0, Duration::ZERO);
                    switches_before = switches_of_thread();
                    began = Instant::now();
                }
            }
            // What is last is nearer to what comes next than the mean: an operation may become faster in the warm-up.
            let each = since_last.as_nanos() as u64 / between;
            between = (between_readings.as_nanos() as u64 / each.max(1)).clamp(1, between * 8);
        }
    }

    /// Times `operations`, which makes `count` operations, once and without a warm-up: in the state of a fresh process.
    pub fn once(&self, count: u64, operations: impl FnOnce()) -> Timed {
        let (before, began) = (switches_of_thread(), Instant::now());
        operations();
        Timed::new(began.elapsed(), count, switches_of_thread() - before)
    }

    /// Repeats `operations` until the times that it returns add up to the length of a loop. It times a part of its work, and
    /// returns that time and the number of operations in it. The first call is the warm-up.
    pub fn repeat_parts(&self, mut operations: impl FnMut() -> (Duration, u64)) -> Timed {
        operations();
        let before = switches_of_thread();
        let mut timed = Timed::new(Duration::ZERO, 0, 0);
        let began = Instant::now();
        // The limit on the elapsed time is needed because the untimed part may take longer than the timed one.
        while timed.elapsed < self.length && began.elapsed() < self.length * 4 {
            let (elapsed, count) = operations();
            timed.elapsed += elapsed;
            timed.operations += count;
            timed.readings.push((elapsed, count));
        }
        Timed { switches: switches_of_thread() - before, ..timed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_and_the_beginning_are_those_of_the_operations() {
        let (mut calls, length) = (0u64, Duration::from_millis(30));
        let setting = Setting {
            cpus: Vec::new(),
            length,
            warm_up: Duration::from_millis(20),
            folder: PathBuf::new(),
            program: PathBuf::new(),
        };
        let timed = setting.repeat(|| {
            calls += 1;
            std::thread::sleep(Duration::from_micros(100));
        });
        assert!(timed.operations < calls && timed.elapsed >= length);
        let sums = timed.readings.iter().fold((Duration::ZERO, 0), |sums, (time, operations)| {
            (sums.0 + *time, sums.1 + operations)
        });
        assert_eq!(sums, (timed.elapsed, timed.operations));
        let [first, later] = timed.first.map(|first| first.expect("a warm-up of 20 ms"));
        assert!(
            first.0 >= FIRST[0] && later.0 >= FIRST[1] && later.1 > first.1,
            "{first:?} {later:?}"
        );
        let (one, ten) = (timed.answer(), timed.times(10).answer());
        assert!((one.ns / ten.ns - 10.0).abs() < 1e-9 && one.ns >= 1e5, "{} {}", one.ns, ten.ns);
        assert!((one.readings[0].0 / ten.readings[0].0 - 10.0).abs() < 1e-9);
        assert_eq!(one.readings[0].1 * 10.0, ten.readings[0].1);
    }
}
