//! Reference computations that tell whether the machine was disturbed just now.
//!
//! A neighbour on the other hardware thread of our core slows everything by a third or more, for a
//! while, and no call tells us. So before and after each batch we time three things whose quiet
//! time is known: integer chains that fill the core's ports, dependent loads within the first-level
//! cache, and a few calls that do nothing in the kernel. `docs/measuring.md` has the evidence that
//! these three together tell quiet from disturbed, and what they let through.

use std::hint::black_box;

use platform::cpu::null_call;
use serde::{Deserialize, Serialize};

use crate::time::{Clock, Nanoseconds};

const ALU_TURNS: u32 = 500;
/// 16 KiB: a third to half of the first-level cache, so that little of what is measured is pushed out.
const LINES: usize = 256;
const LAPS: usize = 2;
const CALLS: u32 = 4;
/// Calls dearer than this together are left out: they would take longer than what they guard.
const CALLS_AT_MOST: Nanoseconds = Nanoseconds::new(3_000.0);
/// How far from its quiet level a reading may be and still count as quiet.
pub const TOLERANCE: f64 = 0.03;

/// What the three references took, in ns. 0 stands for a reference that is not in use.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Reading {
    /// Independent integer chains.
    pub alu: f32,
    /// Dependent loads within the first-level data cache.
    pub chase: f32,
    /// Calls into the kernel.
    pub calls: f32,
}

impl Reading {
    /// Whether each reference is within [`TOLERANCE`] of its quiet `level`, or below it.
    pub fn is_quiet(&self, level: &Reading) -> bool {
        let within = |took: f32, level: f32| took <= level * (1.0 + TOLERANCE as f32);
        within(self.alu, level.alu)
            && within(self.chase, level.chase)
            && within(self.calls, level.calls)
    }

    /// The reading as three numbers: alu, chase, calls.
    pub fn parts(&self) -> [f32; 3] {
        [self.alu, self.chase, self.calls]
    }

    /// The reading of three numbers, as [`Reading::parts`] gives them.
    pub fn of_parts([alu, chase, calls]: [f32; 3]) -> Self {
        Self { alu, chase, calls }
    }

    /// The time of all three together.
    pub fn total(&self) -> Nanoseconds {
        Nanoseconds::new(f64::from(self.alu + self.chase + self.calls))
    }
}

/// One cache line that holds the number of the next.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(usize);

/// The references, ready to run on the calling thread's CPU.
pub struct Sentinel {
    clock: Clock,
    ring: Box<[Line; LINES]>,
    calls: u32,
}

impl Sentinel {
    /// Prepares the references, and finds out how many calls into the kernel are cheap enough here.
    pub fn new(clock: Clock) -> Self {
        let mut sentinel = Self { clock, ring: ring(), calls: CALLS };
        let cheapest = (0..20).map(|_| sentinel.read().calls).fold(f32::MAX, f32::min);
        if f64::from(cheapest) > CALLS_AT_MOST.get() {
            let one = cheapest / CALLS as f32;
            sentinel.calls = u32::from(f64::from(one) <= CALLS_AT_MOST.get());
        }
        sentinel
    }

    /// Runs the references once: about 3 us.
    #[inline(never)]
    pub fn read(&self) -> Reading {
        let start = self.clock.now();
        alu();
        let alu_done = self.clock.now();
        // What the batch pushed out of the cache comes back off the clock: else the reading would
        // depend on what is measured.
        chase(&self.ring, 1);
        let chase_begins = self.clock.now();
        chase(&self.ring, LAPS);
        let chase_done = self.clock.now();
        let calls = if self.calls == 0 { 0.0 } else { self.read_calls() };
        let spent = |from, to| self.clock.between(from, to).get() as f32;
        Reading { alu: spent(start, alu_done), chase: spent(chase_begins, chase_done), calls }
    }

    /// The calls, after one off the clock: what was measured before may have pushed the way into the
    /// kernel out of the caches.
    fn read_calls(&self) -> f32 {
        null_call();
        let start = self.clock.now();
        for _ in 0..self.calls {
            null_call();
        }
        self.clock.between(start, self.clock.now()).get() as f32
    }

    /// How fast the machine is just now: of several readings, a low quantile of each part.
    pub fn read_steadily(&self) -> Reading {
        const READINGS: usize = 12;
        let readings: Vec<[f32; 3]> = (0..READINGS).map(|_| self.read().parts()).collect();
        Reading::of_parts([0, 1, 2].map(|part| {
            let mut times: Vec<f32> = readings.iter().map(|reading| reading[part]).collect();
            times.sort_by(f32::total_cmp);
            times[READINGS / 4]
        }))
    }
}

/// A ring through all lines in an order no prefetcher follows (a full-period congruential step,
/// Knuth, TAOCP vol. 2, 3.2.1.2: increment odd, multiplier 1 modulo 4).
fn ring() -> Box<[Line; LINES]> {
    let mut ring = Box::new([Line(0); LINES]);
    for (at, line) in ring.iter_mut().enumerate() {
        line.0 = (at * 173 + 257) % LINES;
    }
    ring
}

/// Eight independent chains of rotate, add and exclusive or: four instructions a cycle or more where
/// the core is ours alone.
#[inline(never)]
fn alu() {
    let mut chains: [u64; 8] = black_box([1, 2, 3, 4, 5, 6, 7, 8]);
    for turn in 0..u64::from(ALU_TURNS) {
        for chain in &mut chains {
            *chain = chain.rotate_left(9) ^ turn;
        }
    }
    black_box(chains);
}

/// Goes around the ring, each load waiting for the one before.
#[inline(never)]
fn chase(ring: &[Line; LINES], laps: usize) {
    let mut at = 0;
    for _ in 0..LINES * laps {
        at = ring[at % LINES].0;
    }
    black_box(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_visits_every_line_once() {
        let ring = ring();
        let (mut at, mut seen) = (0, [false; LINES]);
        for _ in 0..LINES {
            assert!(!seen[at], "line {at} twice");
            seen[at] = true;
            at = ring[at].0;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn each_reference_takes_time() {
        let reading = Sentinel::new(Clock::monotonic()).read();
        assert!(reading.alu > 0.0 && reading.chase > 0.0, "{reading:?}");
    }

    #[test]
    fn one_slow_reference_is_enough_to_be_disturbed() {
        let level = Reading { alu: 560.0, chase: 761.0, calls: 681.0 };
        assert!(level.is_quiet(&level));
        for (part, slow) in [(0, 580.0), (1, 790.0), (2, 702.0)] {
            let mut parts = level.parts();
            parts[part] = slow;
            assert!(!Reading::of_parts(parts).is_quiet(&level), "{part}");
        }
        assert!(Reading { calls: 690.0, ..level }.is_quiet(&level));
        let without_calls = Reading { calls: 0.0, ..level };
        assert!(without_calls.is_quiet(&without_calls));
    }
}
