//! CPU-bound work of a known length that reads no clock while it runs.

use std::hint::black_box;
use std::time::Duration;

use platform::CaseError;
use platform::cpu::chain::eight_streams;

use crate::stats::quantile;
use crate::time::Clock;

/// Number of iterations in one stretch of calibration: about 250 us.
const STRETCH: u64 = 400_000;
/// Number of stretches of one calibration: about 10 ms in all.
const STRETCHES: usize = 40;

/// Number of iterations of each loop in a stretch that compares them: about 60 us.
const COMPARED: [u64; 2] = [100_000, 25_000];
/// The quantile of the stretches' times that is used: interrupts and a busy hardware thread only prolong stretches.
const UNDISTURBED: f64 = 0.1;

/// How the instructions of work depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Instructions {
    /// Each instruction needs the result of the one before it: the core's other hardware thread can do the same work at
    /// nearly full speed.
    #[default]
    Dependent,
    /// Eight chains do not depend on each other: they need most of the core.
    Independent,
}

/// Work of a known speed: a fixed loop whose time per iteration was calibrated on a quiet CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    ns_per_iteration: f64,
    instructions: Instructions,
}

impl Work {
    /// Measures the undisturbed time of an iteration of dependent instructions on the current CPU: the lower decile of 40
    /// stretches. Takes about 10 ms.
    ///
    /// # Errors
    /// `Implausible` if the loop takes no time.
    pub fn calibrate(clock: Clock) -> Result<Self, CaseError> {
        turn(STRETCH); // wakes the CPU, which may be idle
        let stretch = || {
            let start = clock.now();
            turn(STRETCH);
            clock.between(start, clock.now()).get() / STRETCH as f64
        };
        let mut stretches: Vec<f64> = (0..STRETCHES).map(|_| stretch()).collect();
        stretches.sort_by(f64::total_cmp);
        Self::of_ns_per_iteration(quantile(&stretches, UNDISTURBED))
    }

    /// Work of dependent instructions with the given time per iteration, in ns.
    ///
    /// # Errors
    /// `Implausible` if the time is not positive or not finite.
    pub fn of_ns_per_iteration(ns_per_iteration: f64) -> Result<Self, CaseError> {
        if ns_per_iteration > 0.0 && ns_per_iteration.is_finite() {
            Ok(Self { ns_per_iteration, instructions: Instructions::Dependent })
        } else {
            Err(CaseError::Implausible(format!(
                "an iteration of work that takes {ns_per_iteration} ns"
            )))
        }
    }

    /// Changes the instructions. Measures the ratio of the two loops' times, which does not depend on the core's frequency;
    /// takes about 5 ms if the instructions differ.
    ///
    /// # Errors
    /// `Implausible` if either loop takes no time.
    pub fn of(self, instructions: Instructions, clock: Clock) -> Result<Self, CaseError> {
        if instructions == self.instructions {
            return Ok(self);
        }
        let both = [self.instructions, instructions];
        let stretch = |instructions: Instructions| {
            let iterations = COMPARED[instructions as usize];
            let start = clock.now();
            FixedWork { iterations, instructions }.run();
            clock.between(start, clock.now()).get() / iterations as f64
        };
        both.iter().for_each(|&one| _ = stretch(one)); // wakes the CPU, which may be idle
        // The loops alternate, so that a change of the frequency affects both.
        let pairs: Vec<[f64; 2]> = (0..STRETCHES).map(|_| both.map(stretch)).collect();
        let [own, other] = [0, 1].map(|which| {
            let mut times: Vec<f64> = pairs.iter().map(|pair| pair[which]).collect();
            times.sort_by(f64::total_cmp);
            quantile(&times, UNDISTURBED)
        });
        let found = Self::of_ns_per_iteration(self.ns_per_iteration * other / own)?;
        Ok(Self { instructions, ..found })
    }

    /// The time of one iteration, in ns.
    pub fn ns_per_iteration(&self) -> f64 {
        self.ns_per_iteration
    }

    /// Keeps the CPU busy for `length`, at the calibrated speed.
    pub fn run(&self, length: Duration) {
        self.of_length(length).run();
    }

    /// The work that takes `length` at the calibrated speed.
    pub fn of_length(&self, length: Duration) -> FixedWork {
        let iterations = (length.as_nanos() as f64 / self.ns_per_iteration).round() as u64;
        FixedWork { iterations, instructions: self.instructions }
    }
}

/// A number of iterations of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedWork {
    iterations: u64,
    instructions: Instructions,
}

impl FixedWork {
    /// Runs the iterations.
    #[inline(always)]
    pub fn run(self) {
        if self.iterations > 0 {
            match self.instructions {
                Instructions::Dependent => turn(self.iterations),
                Instructions::Independent => {
                    black_box(eight_streams(black_box(1), self.iterations));
                }
            }
        }
    }
}

/// Aligns the following code to 64 bytes, a line of the instruction cache: the time of a loop over a short operation
/// depends on its place in the line, which any change of the program would change.
#[inline(always)]
pub(crate) fn align_code() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: adds instructions that do nothing, at most one line of them.
    unsafe {
        std::arch::asm!(".p2align 6", options(nomem, nostack, preserves_flags));
    }
}

/// Waits until the processor has executed all earlier instructions, if it has an instruction for that.
pub(crate) fn finish_instructions() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it accesses no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: accesses no memory and no registers.
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
}

/// Runs a chain of dependent exclusive ors and additions: a fixed time per iteration, without memory accesses. Rotations
/// have two steady speeds on some processors (`docs/measuring.md`).
#[inline(never)]
pub(crate) fn turn(turns: u64) {
    let mut x = black_box(1u64);
    for turn in 0..turns {
        x = (x ^ turn).wrapping_add(turn);
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Clock;

    #[test]
    fn work_takes_the_turns_of_its_length() {
        // The test asserts that the time follows the calibration, not how long it is, which depends on the machine.
        let work = Work::calibrate(Clock::monotonic()).unwrap();
        assert!(work.ns_per_iteration() > 0.01 && work.ns_per_iteration() < 1_000.0, "{work:?}");
        assert!(Work::of_ns_per_iteration(0.0).is_err());
        assert!(Work::of_ns_per_iteration(f64::NAN).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn work_takes_cpu_time_not_waiting() {
        let clock = Clock::monotonic();
        for instructions in [Instructions::Dependent, Instructions::Independent] {
            let work = Work::calibrate(clock).unwrap().of(instructions, clock).unwrap();
            let before = platform::process::usage::thread_cpu_time().unwrap();
            work.run(Duration::from_millis(50));
            let spent = platform::process::usage::thread_cpu_time().unwrap() - before;
            // A busy machine prolongs the work, and never shortens it by much.
            assert!(spent > Duration::from_millis(30), "{instructions:?}: {spent:?}");
        }
    }

    #[test]
    fn the_instructions_are_those_asked_for() {
        let clock = Clock::monotonic();
        let work = Work::of_ns_per_iteration(0.5).unwrap();
        assert_eq!(work.of(Instructions::Dependent, clock), Ok(work));
        let independent = work.of(Instructions::Independent, clock).unwrap();
        // The ratio shows that the optimiser has removed neither loop.
        let ratio = independent.ns_per_iteration() / work.ns_per_iteration();
        assert!((0.01..100.0).contains(&ratio), "{independent:?}");
        let of_length = independent.of_length(Duration::from_millis(1));
        assert_eq!(of_length.instructions, Instructions::Independent);
        assert!(of_length.iterations > 1_000);
    }
}
