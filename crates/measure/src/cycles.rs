//! Counts core cycles without the processor's counters, by the time of a chain of dependent multiplications.
//!
//! Clouds hide the counters and the frequency, but the frequency determines the time of instructions of known latency. The
//! latency in cycles is measured, as the ratio to chains of instructions that take one cycle each. `docs/measuring.md` has
//! the evidence.

use std::hint::black_box;
use std::time::Duration;

use platform::cpu::chain::{IS_EXACT, TURN, multiply, rotate_xor, xor_add};
use platform::process::inherited::not_created;
use serde::{Deserialize, Serialize};

use crate::stats::{median, quantile};
use crate::survey::ClockFacts;
use crate::time::{Clock, Stopwatch};

/// Number of multiplications to which a reading of the chain is scaled.
pub const UNIT: f64 = 1_000.0;
/// Maximum share of the clock's cost in a reading of the chain, unless the clock is too slow for that.
const CLOCK_SHARE: f64 = 0.004;
/// Approximate time of a multiplication in ns, used to choose the chain's length.
const ABOUT_ONE_NS: f64 = 1.0;
/// Minimum and maximum iterations of a chain: about 0.3 and 30 us.
const TURNS_AT_LEAST: u32 = 19;
const TURNS_AT_MOST: u32 = 1_900;
/// Tolerance for a latency that must be a whole number of cycles, as a share.
const WHOLE_WITHIN: f64 = 0.01;
/// Accepted latencies in cycles. 64-bit multiplications take 3 to 5 cycles on current processors (Agner Fog, "Instruction
/// tables").
const LATENCIES: std::ops::RangeInclusive<u32> = 2..=8;

/// A chain of dependent multiplications, long enough for its clock.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    clock: Clock,
    short: u32,
    long: u32,
}

impl Chain {
    /// A chain for readings of `clock`.
    pub fn new(clock: Clock, facts: &ClockFacts) -> Self {
        let wanted = facts.coarsest().get() / CLOCK_SHARE / ABOUT_ONE_NS / f64::from(TURN);
        let turns = (wanted as u32).clamp(TURNS_AT_LEAST, TURNS_AT_MOST);
        let short = turns.div_ceil(8);
        Self { clock, short, long: short + turns }
    }

    /// The current time of [`UNIT`] multiplications, in ns.
    #[inline(always)]
    pub fn read(&self) -> f64 {
        self.time(multiply)
    }

    /// Times `links` in two lengths, so that the clock's own cost cancels. Runs once before, untimed, because the first run
    /// after work in the kernel can take several times as long.
    #[inline(always)]
    fn time(&self, links: impl Fn(u64, u32) -> u64) -> f64 {
        let mut value = black_box(links(3, self.short));
        let start = self.clock.now();
        value = black_box(links(value, self.short));
        let middle = self.clock.now();
        black_box(links(value, self.long));
        let end = self.clock.now();
        let difference =
            self.clock.between(middle, end).get() - self.clock.between(start, middle).get();
        difference / f64::from((self.long - self.short) * TURN) * UNIT
    }
}

/// The number of cycles of one multiplication of the chain, or why it is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// Number of cycles.
    Cycles(u32),
    /// The reason why cycles cannot be counted.
    Unknown(String),
}

impl Latency {
    /// Measures the latency on the CPU that the calling thread is pinned to. Takes 1 ms, beside neighbours up to a second.
    /// `known` is the result of an earlier run on the same CPU model, used if neighbours disturb the measurement.
    pub fn calibrate(chain: &Chain, emulator: Option<&str>, known: Option<u32>) -> Self {
        /// Maximum attempts. A neighbour slows the rotations more than the multiplications, so that the ratio is not a
        /// whole number; a later attempt may succeed.
        const TRIES: usize = 100;
        const PAUSE: Duration = Duration::from_millis(3);
        if let Some(name) = emulator {
            return Self::Unknown(format!("the processor is emulated by {name}"));
        }
        if !IS_EXACT {
            return Self::Unknown(format!("not built for {}", std::env::consts::ARCH));
        }
        let mut found = Self::Unknown("not measured".into());
        for _ in 0..TRIES {
            found = Self::of_ratio(ratio(chain));
            if found.cycles().is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        match (found, known) {
            (Self::Unknown(_), Some(cycles)) => Self::Cycles(cycles),
            (found, _) => found,
        }
    }

    /// The latency that follows from a measured ratio to one-cycle instructions.
    fn of_ratio(ratio: f64) -> Self {
        let whole = ratio.round();
        let is_whole = (ratio / whole - 1.0).abs() <= WHOLE_WITHIN;
        if is_whole && LATENCIES.contains(&(whole as u32)) {
            Self::Cycles(whole as u32)
        } else {
            let text =
                format!("a multiplication takes {ratio:.2} times as long as an exclusive or");
            Self::Unknown(format!("{text}, no whole number of cycles from 2 to 8"))
        }
    }

    /// Cycles of one multiplication; `None` if unknown.
    pub fn cycles(&self) -> Option<u32> {
        match self {
            Self::Cycles(cycles) => Some(*cycles),
            Self::Unknown(_) => None,
        }
    }

    /// The core's frequency in GHz while [`UNIT`] multiplications take `chain_ns`.
    pub fn ghz(&self, chain_ns: f64) -> Option<f64> {
        self.cycles().map(|cycles| f64::from(cycles) * UNIT / chain_ns)
    }
}

/// A run's clock, and the latency by which cycles are counted on the measuring CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Timebase {
    /// The clock.
    pub clock: ClockFacts,
    /// Cycles of one multiplication.
    pub latency: Latency,
}

impl Timebase {
    /// Calibrates the latency on `cpu`, in a separate thread, so that the caller stays on its CPU. `known` is the latency
    /// found earlier on the same CPU model.
    pub fn on(
        cpu: Option<usize>,
        clock: ClockFacts,
        emulator: Option<&str>,
        known: Option<u32>,
    ) -> Self {
        let latency = std::thread::scope(|scope| {
            let calibrate = || {
                // Where threads cannot be pinned, any CPU is used.
                let _ = cpu.map(platform::cpu::pin_thread);
                match clock.clock() {
                    Some(timer) => Latency::calibrate(&Chain::new(timer, &clock), emulator, known),
                    None => Latency::Unknown(format!("no clock named {} here", clock.name)),
                }
            };
            let ended = |_| Latency::Unknown("the calibration ended early".into());
            match std::thread::Builder::new().spawn_scoped(scope, calibrate) {
                Ok(calibration) => calibration.join().unwrap_or_else(ended),
                Err(e) => Latency::Unknown(not_created("a thread", &e).to_string()),
            }
        });
        Self { clock, latency }
    }

    /// The 5 % quantile, median and 95 % quantile of the core's frequency in GHz, read for `length` on the calling thread's
    /// CPU. `None` if cycles cannot be counted.
    pub fn watch_frequency(&self, length: Duration) -> Option<[f64; 3]> {
        /// Time between two readings, for a thousand readings per second.
        const PAUSE: Duration = Duration::from_micros(900);
        let chain = Chain::new(self.clock.clock()?, &self.clock);
        let watch = Stopwatch::start();
        let mut readings = Vec::new();
        while readings.is_empty() || watch.elapsed().get() < length.as_nanos() as f64 {
            let ghz = self.latency.ghz(chain.read())?;
            if ghz > 0.0 && ghz.is_finite() {
                readings.push(ghz);
            }
            std::thread::sleep(PAUSE);
        }
        readings.sort_unstable_by(f64::total_cmp);
        Some([0.05, 0.5, 0.95].map(|p| quantile(&readings, p)))
    }
}

/// The time of a multiplication in cycles, by the faster of two chains of one-cycle instructions. Neither chain can be
/// faster than one cycle per instruction, but in one of forty processes on an AMD EPYC (Zen 5) rotations took 1.1 cycles
/// throughout.
fn ratio(chain: &Chain) -> f64 {
    ratio_to(chain, rotate_xor).max(ratio_to(chain, xor_add))
}

/// The time of a multiplication divided by that of an instruction of the chain `of_one_cycle`: the median over pairs of
/// readings, each taken in succession at the same frequency.
fn ratio_to(chain: &Chain, of_one_cycle: fn(u64, u32) -> u64) -> f64 {
    const PAIRS: usize = 61;
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|_| (chain.read(), chain.time(of_one_cycle)))
        .filter(|&(_, of_one_cycle)| of_one_cycle > 0.0)
        .map(|(multiplications, of_one_cycle)| multiplications / of_one_cycle)
        .collect();
    if ratios.is_empty() { 0.0 } else { median(&mut ratios) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::survey;

    #[test]
    fn only_whole_numbers_of_cycles_are_a_latency() {
        for (ratio, cycles) in [
            (3.0, Some(3)),
            (2.98, Some(3)),
            (3.02, Some(3)),
            (4.01, Some(4)),
            (5.0, Some(5)),
            (3.05, None),
            (3.5, None),
            (1.0, None), // an emulator that translates each instruction into one
            (0.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (11.0, None),
        ] {
            assert_eq!(Latency::of_ratio(ratio).cycles(), cycles, "{ratio}");
        }
    }

    #[test]
    fn an_emulated_processor_has_no_cycles() {
        let facts = survey().remove(0);
        let chain = Chain::new(facts.clock().unwrap(), &facts);
        let latency = Latency::calibrate(&chain, Some("QEMU"), Some(3));
        assert_eq!(latency, Latency::Unknown("the processor is emulated by QEMU".into()));
        assert_eq!(latency.ghz(1_000.0), None);
    }

    #[test]
    fn three_cycles_in_a_nanosecond_are_three_gigahertz() {
        assert_eq!(Latency::Cycles(3).ghz(1_000.0), Some(3.0));
        assert_eq!(Latency::Cycles(4).ghz(1_000.0), Some(4.0));
    }

    #[test]
    fn the_frequency_is_read_where_the_latency_is_known() {
        let clock = survey().remove(0);
        let known = Timebase { clock: clock.clone(), latency: Latency::Cycles(3) };
        let [low, median, high] = known.watch_frequency(Duration::from_millis(20)).unwrap();
        assert!(0.0 < low && low <= median && median <= high && high < 100.0, "{low} {high}");
        let unknown = Timebase { latency: Latency::Unknown("x".into()), ..known };
        assert_eq!(unknown.watch_frequency(Duration::from_millis(1)), None);
        assert_eq!(Timebase::on(None, clock, Some("x"), Some(3)).latency.cycles(), None);
    }

    #[test]
    fn a_coarse_clock_gets_a_longer_chain_and_a_reading_is_positive() {
        let facts = survey().remove(0);
        let clock = facts.clock().unwrap();
        let coarse = ClockFacts { step: crate::time::Nanoseconds::new(1_000.0), ..facts.clone() };
        let (fine, long) = (Chain::new(clock, &facts), Chain::new(clock, &coarse));
        assert!(long.long > fine.long, "{fine:?} {long:?}");
        assert!(long.long - long.short <= TURNS_AT_MOST);
        // Some readings may be interrupted, but not all of several.
        assert!((0..20).any(|_| fine.read() > 0.0));
    }
}
