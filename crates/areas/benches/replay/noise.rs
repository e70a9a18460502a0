//! Simulated machines with different noise: the value and the duration of a point's round at a given time.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::points::{Point, Rounds};

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Nothing else runs; one round in thirty is disturbed.
    Idle,
    /// A neighbour works on the core's other hardware thread, in phases of 10 to 60 s with pauses of 50 ms.
    Neighbour,
    /// Runnable threads of other programs, per CPU.
    Load(f64),
    /// Core-bound operations have one of three costs, 2.5 % apart, for three seconds on average.
    States,
    /// All times rise and fall by 3 % within two minutes.
    Drift,
    /// Rounds are drawn from stored runs.
    Recorded,
}

impl Noise {
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Neighbour,
        Self::Load(2.0),
        Self::Load(10.0),
        Self::States,
        Self::Drift,
        Self::Recorded,
    ];

    pub fn name(self) -> String {
        match self {
            Self::Load(programs) => format!("load {programs}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

/// A simulated round.
pub struct Seen {
    pub value: f64,
    pub is_quiet: bool,
    pub took: Duration,
}

/// A machine and its states over time.
pub struct Machine {
    noise: Noise,
    rng: StdRng,
    /// The machine's states: the end of each, in s, and its number.
    course: Vec<(f64, u32)>,
}

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Self {
        Self { noise, rng: StdRng::seed_from_u64(seed), course: Vec::new() }
    }

    /// Time until the CPU is quiet.
    pub fn quiet_in(&mut self, now: Duration) -> Duration {
        let now = now.as_secs_f64();
        let at = self.stretch(now);
        if !self.is_busy(self.course[at].1) {
            return Duration::ZERO;
        }
        Duration::from_secs_f64((self.course[at].0 - now).max(0.0))
    }

    /// A round of `point` that begins at `now`.
    pub fn round(&mut self, point: &Point, now: Duration) -> Seen {
        let seconds = now.as_secs_f64();
        let at = self.stretch(seconds);
        let state = self.course[at].1;
        let is_busy = self.is_busy(state);
        let own = match (self.noise, point.recorded.as_slice()) {
            (Noise::Recorded, values) if !values.is_empty() => {
                values[self.rng.random_range(0..values.len())]
            }
            _ => point.truth * (point.spread * self.normal()).exp(),
        };
        let core_bound = point.rounds == Rounds::Pairs;
        let (factor, slower) = match self.noise {
            Noise::Idle | Noise::Recorded => (1.0, 1.0),
            Noise::Neighbour if is_busy => (if core_bound { 1.3 } else { 1.15 }, 1.15),
            Noise::Neighbour => (1.0, 1.0),
            Noise::Load(programs) if is_busy => {
                (1.0 + 0.2 * programs * self.rng.random::<f64>(), 1.0 + 0.3 * programs)
            }
            Noise::Load(_) => (1.0, 1.0),
            Noise::States if core_bound => (1.0 + 0.025 * f64::from(state), 1.0),
            Noise::States => (1.0, 1.0),
            Noise::Drift => (1.0 + 0.03 * (seconds / 120.0 * std::f64::consts::TAU).sin(), 1.0),
        };
        // The sentinel errs in both directions: it misses some disturbances, and reports some that are none.
        let errs = self.rng.random::<f64>() < 0.03;
        Seen {
            value: own * factor,
            is_quiet: is_busy == errs,
            took: point.took.mul_f64(slower * (0.9 + 0.2 * self.rng.random::<f64>())),
        }
    }

    fn is_busy(&self, state: u32) -> bool {
        matches!(self.noise, Noise::Neighbour | Noise::Load(_)) && state > 0
    }

    /// The index of the state at a moment.
    fn stretch(&mut self, now: f64) -> usize {
        while self.course.last().is_none_or(|&(until, _)| until <= now) {
            let (began, before) = self.course.last().copied().unwrap_or((0.0, 0));
            let (length, state) = match self.noise {
                Noise::Idle | Noise::Drift | Noise::Recorded => (1e9, 0),
                Noise::States => (self.exponential(3.0), self.rng.random_range(0..3)),
                Noise::Load(programs) => match before {
                    0 => (self.exponential(0.05 * programs), 1),
                    _ => (self.exponential(0.05), 0),
                },
                // The neighbour works for 87 % of a phase of 30 s, then for 2 % of 15 s.
                Noise::Neighbour => {
                    let is_phase = began % 45.0 < 30.0;
                    match before {
                        0 => (self.exponential(if is_phase { 0.35 } else { 0.01 }), 1),
                        _ => (self.exponential(if is_phase { 0.05 } else { 0.5 }), 0),
                    }
                }
            };
            self.course.push((began + length, state));
        }
        self.course.partition_point(|&(until, _)| until <= now)
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.rng.random::<f64>()).ln()
    }

    /// A normally distributed number, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let (one, two): (f64, f64) = (self.rng.random(), self.rng.random());
        (-2.0 * (1.0 - one).ln()).sqrt() * (two * std::f64::consts::TAU).cos()
    }
}
