//! Reference computations that measure the core's speed and detect disturbances of the machine.
//!
//! A neighbour on the core's other hardware thread slows everything by a third or more for some time, and no system call
//! reports it. So three computations are timed before and after each batch: a chain of dependent multiplications
//! ([`crate::cycles`]), integer chains that fill the core's ports, and dependent loads within the first-level cache. The
//! chain's time follows the core's frequency and hardly anything else. The other two times, divided by the chain's, do not
//! depend on the frequency and rise with a disturbance. None of the computations enters the kernel, because system calls
//! between the batches change the core's branch prediction, and with it the time of measured system calls.
//! `docs/measuring.md` has the evidence and the error rates.

use std::hint::black_box;

use platform::cpu::chain::eight_streams;
use serde::{Deserialize, Serialize};

use crate::cycles::Chain;
use crate::survey::ClockFacts;
use crate::time::{Clock, Nanoseconds};

/// Turns of the integer chains, of 32 instructions each: 3,800 to 4,800 cycles on cores that execute four to five at a
/// time. The steps of a time stamp counter, up to 10 ns, must be at most 1 % of their time.
const ALU_TURNS: u64 = 600;
/// Untimed turns before the timed ones, after which the loop has its steady speed.
const ALU_WARM_UP: u64 = 20;
/// Lines of the ring of loads, 16 KiB: a third to half of the first-level cache, so that little data of the measured
/// operation is evicted.
const LINES: usize = 256;
const LAPS: usize = 3;
/// Maximum relative distance of a quiet ratio above its quiet level.
pub const TOLERANCE: f32 = 0.03;
/// Maximum relative distance for operations that depend on more than the core.
pub const TOLERANCE_BEYOND_CORE: f32 = 0.05;
/// Maximum relative difference of the chain before and after a batch; a larger one means that the frequency changed.
pub const STEADY_CHAIN: f32 = 0.005;

/// The times of the reference computations, in ns. Stored as `[chain, alu, chase]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "[f32; 3]", from = "[f32; 3]")]
pub struct Reading {
    /// A thousand dependent multiplications.
    pub chain: f32,
    /// Independent integer chains.
    pub alu: f32,
    /// Dependent loads within the first-level data cache.
    pub chase: f32,
}

impl From<Reading> for [f32; 3] {
    fn from(reading: Reading) -> Self {
        [reading.chain, reading.alu, reading.chase]
    }
}

impl From<[f32; 3]> for Reading {
    fn from([chain, alu, chase]: [f32; 3]) -> Self {
        Self { chain, alu, chase }
    }
}

/// Times of the reference computations divided by the chain's, which are independent of the core's frequency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Ratio of the integer chains.
    pub alu: f32,
    /// Ratio of the loads.
    pub chase: f32,
}

impl Ratios {
    /// Whether both ratios are at most `tolerance` above the quiet `level`.
    pub fn are_within(&self, tolerance: f32, level: &Ratios) -> bool {
        // An interrupt in the chain's shorter run makes the chain's time negative: such a reading is not quiet.
        let within = |ratio: f32, level: f32| ratio > 0.0 && ratio <= level * (1.0 + tolerance);
        within(self.alu, level.alu) && within(self.chase, level.chase)
    }
}

impl Reading {
    /// The times of the other references divided by the chain's.
    pub fn ratios(&self) -> Ratios {
        Ratios { alu: self.alu / self.chain, chase: self.chase / self.chain }
    }

    /// Whether the core's frequency was the same as in the reading `other`.
    pub fn has_frequency_of(&self, other: &Reading) -> bool {
        let mean = (self.chain + other.chain) / 2.0;
        (self.chain - other.chain).abs() <= mean * STEADY_CHAIN
    }

    /// The total time of the references.
    pub fn total(&self) -> Nanoseconds {
        Nanoseconds::new(f64::from(self.chain + self.alu + self.chase))
    }

    /// A low quantile of each part over several readings (at least one): the core's speed without interrupts.
    pub fn low_of(readings: &[Reading]) -> Reading {
        let low = |part: &dyn Fn(&Reading) -> f32| {
            let mut times: Vec<f32> = readings.iter().map(part).collect();
            times.sort_by(f32::total_cmp);
            times[times.len() / 4]
        };
        Reading { chain: low(&|r| r.chain), alu: low(&|r| r.alu), chase: low(&|r| r.chase) }
    }
}

/// A cache line with the index of the next line.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct ChaseLine(usize);

/// The reference computations, ready to run on the calling thread's CPU.
pub struct Sentinel {
    clock: Clock,
    chain: Chain,
    ring: Box<[ChaseLine; LINES]>,
}

impl Sentinel {
    /// Prepares the references.
    pub fn new(clock: Clock, facts: &ClockFacts) -> Self {
        Self { clock, chain: Chain::new(clock, facts), ring: ring() }
    }

    /// Runs the references once: about 10 us with a clock that costs 20 ns.
    #[inline(never)]
    pub fn read(&self) -> Reading {
        let chain = self.chain.read() as f32;
        alu(ALU_WARM_UP);
        let start = self.clock.now();
        alu(ALU_TURNS);
        let alu_done = self.clock.now();
        // This lap reloads lines that the batch evicted from the cache: otherwise the reading would depend on the measured
        // operation.
        chase(&self.ring, 1);
        let chase_begins = self.clock.now();
        chase(&self.ring, LAPS);
        let chase_done = self.clock.now();
        let spent = |from, to| self.clock.between(from, to).get() as f32;
        Reading { chain, alu: spent(start, alu_done), chase: spent(chase_begins, chase_done) }
    }

    /// Keeps the core busy until its frequency is steady. A core that was idle for tens of milliseconds begins at a lower
    /// frequency (an AMD EPYC at 2.6 instead of 3.25 GHz, for 0.2 to 1.3 ms), so that readings before and after a
    /// measurement would differ.
    pub fn settle(&self) {
        const SETTLING: Nanoseconds = Nanoseconds::new(2e6);
        let start = self.clock.now();
        while self.clock.between(start, self.clock.now()) < SETTLING {
            alu(ALU_TURNS);
        }
    }

    /// Reads several times; returns a low quantile of each part, the machine's current speed.
    pub fn read_steadily(&self) -> Reading {
        const READINGS: usize = 12;
        let readings: Vec<Reading> = (0..READINGS).map(|_| self.read()).collect();
        Reading::low_of(&readings)
    }
}

/// A ring through all lines in an order that no prefetcher predicts (a full-period congruential step, Knuth, TAOCP vol. 2,
/// 3.2.1.2: increment odd, multiplier 1 modulo 4).
fn ring() -> Box<[ChaseLine; LINES]> {
    let mut ring = Box::new([ChaseLine(0); LINES]);
    for (at, line) in ring.iter_mut().enumerate() {
        line.0 = (at * 173 + 257) % LINES;
    }
    ring
}

/// Runs eight independent chains of instructions that any integer unit executes: four to five per cycle on a core without
/// neighbours. Rotations, which only some units execute, had two steady speeds on a Zen 5 core, 7 % apart, depending on the
/// operation measured before.
fn alu(turns: u64) {
    black_box(eight_streams(black_box(1), turns));
}

/// Follows the ring; each load depends on the one before.
#[inline(never)]
fn chase(ring: &[ChaseLine; LINES], laps: usize) {
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

    const QUIET: Reading = Reading { chain: 800.0, alu: 560.0, chase: 761.0 };

    #[test]
    fn each_reference_takes_time() {
        let facts = crate::survey::survey().remove(0);
        let sentinel = Sentinel::new(facts.clock().unwrap(), &facts);
        let reading = sentinel.read_steadily();
        assert!(reading.chain > 0.0 && reading.alu > 0.0 && reading.chase > 0.0, "{reading:?}");
    }

    #[test]
    fn a_core_has_time_to_reach_its_frequency() {
        let facts = crate::survey::survey().remove(0);
        let sentinel = Sentinel::new(facts.clock().unwrap(), &facts);
        let start = std::time::Instant::now();
        sentinel.settle();
        // The test uses another clock, which may be a little faster.
        assert!(start.elapsed() >= std::time::Duration::from_micros(1_900));
    }

    #[test]
    fn one_slow_reference_is_enough_to_be_disturbed() {
        let level = QUIET.ratios();
        assert!(level.are_within(TOLERANCE, &level));
        for slow in [Reading { alu: 580.0, ..QUIET }, Reading { chase: 790.0, ..QUIET }] {
            assert!(!slow.ratios().are_within(TOLERANCE, &level), "{slow:?}");
        }
        assert!(Reading { chase: 770.0, ..QUIET }.ratios().are_within(TOLERANCE, &level));
    }

    #[test]
    fn an_interrupted_chain_is_never_quiet() {
        let level = QUIET.ratios();
        for chain in [-200.0, 0.0, f32::NAN] {
            assert!(!Reading { chain, ..QUIET }.ratios().are_within(TOLERANCE, &level), "{chain}");
        }
    }

    #[test]
    fn another_frequency_is_no_disturbance() {
        let level = QUIET.ratios();
        for slower in [1.1, 1.5, 0.9] {
            let reading = Reading {
                chain: QUIET.chain * slower,
                alu: QUIET.alu * slower,
                chase: QUIET.chase * slower,
            };
            assert!(reading.ratios().are_within(TOLERANCE, &level), "{slower}");
            assert!(!reading.has_frequency_of(&QUIET));
        }
        assert!(Reading { chain: 803.0, ..QUIET }.has_frequency_of(&QUIET));
        assert!(!Reading { chain: 805.0, ..QUIET }.has_frequency_of(&QUIET));
    }

    #[test]
    fn a_reading_is_stored_as_three_numbers() {
        let text = serde_json::to_string(&QUIET).unwrap();
        assert_eq!(text, "[800.0,560.0,761.0]");
        assert_eq!(serde_json::from_str::<Reading>(&text).unwrap(), QUIET);
        for damaged in ["[800,560]", "[800,560,761,681]", "[null,560,761]"] {
            serde_json::from_str::<Reading>(damaged).expect_err(damaged);
        }
    }
}
