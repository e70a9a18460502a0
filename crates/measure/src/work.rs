//! CPU-bound work of a known length that reads no clock while it runs.

use std::hint::black_box;
use std::time::Duration;

use platform::CaseError;

use crate::time::Clock;

/// Iterations in one stretch of calibration: about 250 us.
const STRETCH: u64 = 400_000;
/// Stretches of one calibration: about 10 ms in all.
const STRETCHES: usize = 40;
/// Stretches longer than the median by this factor were interrupted by another program.
const OURS: f64 = 1.3;

/// Work of a known speed: a fixed loop with a calibrated time per iteration on a quiet CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    ns_per_iteration: f64,
}

impl Work {
    /// Measures the time of an iteration on the current CPU, including occasional delays: the mean, without stretches
    /// in which the thread did not have the CPU. Takes about 10 ms.
    ///
    /// # Errors
    /// `Implausible` if the loop takes no time.
    pub fn calibrate(clock: Clock) -> Result<Self, CaseError> {
        turn(STRETCH); // the CPU may have been asleep
        let stretch = || {
            let start = clock.now();
            turn(STRETCH);
            clock.between(start, clock.now()).get() / STRETCH as f64
        };
        let mut stretches: Vec<f64> = (0..STRETCHES).map(|_| stretch()).collect();
        stretches.sort_by(f64::total_cmp);
        let median = stretches[STRETCHES / 2];
        let ours: Vec<f64> = stretches.into_iter().filter(|&ns| ns <= median * OURS).collect();
        Self::of_ns_per_iteration(ours.iter().sum::<f64>() / ours.len() as f64)
    }

    /// Work with the given time per iteration, in ns.
    ///
    /// # Errors
    /// `Implausible` if that is zero or not finite.
    pub fn of_ns_per_iteration(ns_per_iteration: f64) -> Result<Self, CaseError> {
        if ns_per_iteration > 0.0 && ns_per_iteration.is_finite() {
            Ok(Self { ns_per_iteration })
        } else {
            Err(CaseError::Implausible(format!(
                "an iteration of work that takes {ns_per_iteration} ns"
            )))
        }
    }

    /// The time of one iteration, in ns.
    pub fn ns_per_iteration(&self) -> f64 {
        self.ns_per_iteration
    }

    /// Keeps the CPU busy for `length`, at the calibrated speed.
    pub fn run(&self, length: Duration) {
        self.of_length(length).run();
    }

    /// The work that takes this long at the calibrated speed.
    pub fn of_length(&self, length: Duration) -> FixedWork {
        FixedWork((length.as_nanos() as f64 / self.ns_per_iteration).round() as u64)
    }
}

/// A number of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWork(u64);

impl FixedWork {
    /// Carries it out.
    #[inline(always)]
    pub fn run(self) {
        if self.0 > 0 {
            turn(self.0);
        }
    }
}

/// A chain of dependent rotations and exclusive ors: a fixed time per iteration, and no memory.
#[inline(never)]
pub(crate) fn turn(turns: u64) {
    let mut x = black_box(1u64);
    for turn in 0..turns {
        x = x.rotate_left(3) ^ turn;
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Clock;

    #[test]
    fn work_takes_the_turns_of_its_length() {
        // Not how long it takes, which is the machine's affair, but that it follows the calibration.
        let work = Work::calibrate(Clock::monotonic()).unwrap();
        assert!(work.ns_per_iteration() > 0.01 && work.ns_per_iteration() < 1_000.0, "{work:?}");
        assert!(Work::of_ns_per_iteration(0.0).is_err());
        assert!(Work::of_ns_per_iteration(f64::NAN).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn work_takes_cpu_time_not_waiting() {
        let work = Work::calibrate(Clock::monotonic()).unwrap();
        let before = platform::usage::thread_cpu_time().unwrap();
        work.run(Duration::from_millis(50));
        let spent = platform::usage::thread_cpu_time().unwrap() - before;
        // A busy machine makes it longer, never shorter by much.
        assert!(spent > Duration::from_millis(30), "{spent:?}");
    }
}
