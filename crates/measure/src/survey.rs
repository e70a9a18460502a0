//! Chooses the clock to time with, and determines its cost and the length of a batch.

use platform::time::clock::{os_clocks, tsc_is_invariant};
use serde::{Deserialize, Serialize};

use crate::time::{Clock, Nanoseconds, Stopwatch};

/// Maximum share of the clock's cost in the time of a batch.
pub const CLOCK_SHARE: f64 = 0.002;
/// Minimum time of a batch: the sentinel around it takes 2 us.
const SHORTEST_BATCH: Nanoseconds = Nanoseconds::new(10_000.0);
/// Maximum factor by which a preferred clock may cost more than the cheapest, so that the choice between two equal clocks
/// does not change from run to run.
const AS_GOOD: f64 = 1.25;
/// Tolerated relative difference of two calibrations of the time stamp counter.
const TSC_AGREEMENT: f64 = 100e-6;

/// The measured properties of one clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Name, as from [`Clock::name`].
    pub name: String,
    /// Nanoseconds of one tick.
    pub ns_per_tick: f64,
    /// Cost of one reading.
    pub cost: Nanoseconds,
    /// Step: all differences between readings are multiples of it.
    pub step: Nanoseconds,
    /// Number of readings lower than the previous one.
    pub backward: u32,
}

impl ClockFacts {
    /// The clock itself; `None` if this system does not have it, for facts from another system.
    pub fn clock(&self) -> Option<Clock> {
        Clock::by_name(&self.name, self.ns_per_tick)
    }

    /// Resolution of the clock: the cost of a reading or the step, whichever is greater.
    pub fn coarsest(&self) -> Nanoseconds {
        Nanoseconds::new(self.cost.get().max(self.step.get()))
    }

    /// The shortest batch in which the clock's cost and step are at most [`CLOCK_SHARE`] of the time.
    pub fn shortest_batch(&self) -> Nanoseconds {
        Nanoseconds::new((self.coarsest().get() / CLOCK_SHARE).max(SHORTEST_BATCH.get()))
    }
}

/// Examines every clock of this system, the best first: one that never went backwards and permits about the shortest
/// batches. Among such clocks the time stamp counter is preferred, which is the same under every kernel, then the system's
/// ordinary clock. Takes about 50 ms.
pub fn survey() -> Vec<ClockFacts> {
    let mut clocks: Vec<Clock> = calibrated_tsc().into_iter().collect();
    clocks.extend(os_clocks().iter().map(|&clock| Clock::of_os(clock)));
    by_preference(clocks.into_iter().map(examine).collect())
}

/// Sorts clocks: those about as good as the best first, in the given order, then the others.
fn by_preference(facts: Vec<ClockFacts>) -> Vec<ClockFacts> {
    let coarsest = |f: &ClockFacts| f.coarsest().get();
    let steady = facts.iter().filter(|f| f.backward == 0);
    let best = steady.map(coarsest).fold(f64::INFINITY, f64::min);
    let (good, others): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|f| f.backward == 0 && coarsest(f) <= best * AS_GOOD);
    good.into_iter().chain(others).collect()
}

/// The facts of the system's monotonic clock, which long times are measured by. Quicker than [`survey`].
pub fn monotonic_facts() -> ClockFacts {
    examine(Clock::monotonic())
}

/// Examines one clock.
pub fn examine(clock: Clock) -> ClockFacts {
    const CHUNK: u32 = 200;
    let (mut step, mut backward, mut changes) = (0, 0, 0);
    let watch = Stopwatch::start();
    // The loop ends after enough changes, or after 20 ms for a clock that hardly ever changes.
    while changes < 2_000 && watch.elapsed().get() < 20e6 {
        let mut last = clock.now();
        for _ in 0..CHUNK {
            let now = clock.now();
            // All differences are multiples of the step, also where a reading takes longer.
            step = greatest_common_divisor(step, now.0.saturating_sub(last.0));
            changes += u32::from(now > last);
            backward += u32::from(now < last);
            last = now;
        }
    }
    ClockFacts {
        name: clock.name().to_owned(),
        ns_per_tick: clock.ns_per_tick(),
        cost: cost_of(clock),
        step: Nanoseconds::new(match step {
            0 => f64::INFINITY,
            ticks => ticks as f64 * clock.ns_per_tick(),
        }),
        backward,
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The cost of one reading of `clock`: the median of a few short loops.
pub fn cost_of(clock: Clock) -> Nanoseconds {
    const LOOPS: usize = 15;
    const READS: u32 = 100;
    let mut costs = [0.0; LOOPS];
    for cost in &mut costs {
        let start = clock.now();
        for _ in 1..READS {
            std::hint::black_box(clock.now());
        }
        *cost = clock.between(start, clock.now()).get() / f64::from(READS);
    }
    costs.sort_by(f64::total_cmp);
    Nanoseconds::new(costs[LOOPS / 2])
}

/// The time stamp counter, if the processor declares it invariant and two calibrations agree. Takes 20 ms.
fn calibrated_tsc() -> Option<Clock> {
    if !tsc_is_invariant() {
        return None;
    }
    let (first, second) = (tsc_period(), tsc_period());
    let agree = (first / second - 1.0).abs() < TSC_AGREEMENT;
    (agree && first.is_finite() && first > 0.0).then(|| Clock::of_tsc((first + second) / 2.0))
}

/// The period of the time stamp counter in ns, measured against the monotonic clock over 10 ms.
fn tsc_period() -> f64 {
    let (tsc, monotonic) = (Clock::of_tsc(1.0), Clock::monotonic());
    // Reads both clocks at one moment: the shortest of several attempts.
    let moment = || {
        (0..10)
            .map(|_| {
                let before = tsc.now();
                let ns = monotonic.now();
                (tsc.now().0 - before.0, before.0, ns.0)
            })
            .min()
            .map(|(took, before, ns)| (before as f64 + took as f64 / 2.0, ns as f64))
            .expect("ten tries")
    };
    let watch = Stopwatch::start();
    let (ticks_before, ns_before) = moment();
    while watch.elapsed().get() < 10e6 {
        std::hint::spin_loop();
    }
    let (ticks_after, ns_after) = moment();
    (ns_after - ns_before) / (ticks_after - ticks_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_survey_has_a_clock_that_can_be_used() {
        let facts = survey();
        let best = &facts[0];
        assert!(best.clock().is_some());
        assert!(best.cost.get() > 0.0, "{best:?}");
        assert!(best.shortest_batch().get() * CLOCK_SHARE >= best.cost.get());
        assert!(facts.iter().any(|clock| clock.name != "tsc"));
    }

    #[test]
    fn a_step_is_what_all_differences_are_multiples_of() {
        assert_eq!(greatest_common_divisor(0, 100), 100);
        assert_eq!(greatest_common_divisor(300, 200), 100);
        assert_eq!(greatest_common_divisor(17, 0), 17);
        let coarse = platform::time::clock::OsClock {
            name: "coarse",
            read: || (Clock::monotonic().now().0 / 700) * 700,
        };
        assert_eq!(examine(Clock::of_os(coarse)).step.get(), 700.0);
    }

    #[test]
    fn equal_clocks_are_taken_in_order_and_backward_ones_rejected() {
        let facts = |name: &str, cost: f64, backward: u32| ClockFacts {
            name: name.into(),
            ns_per_tick: 1.0,
            cost: Nanoseconds::new(cost),
            step: Nanoseconds::new(1.0),
            backward,
        };
        let chosen = |all: Vec<ClockFacts>| by_preference(all).remove(0).name;
        assert_eq!(chosen(vec![facts("a", 20.0, 0), facts("b", 18.0, 0)]), "a");
        assert_eq!(chosen(vec![facts("a", 30.0, 0), facts("b", 18.0, 0)]), "b");
        assert_eq!(chosen(vec![facts("a", 5.0, 1), facts("b", 18.0, 0)]), "b");
    }

    #[test]
    fn a_coarse_clock_needs_long_batches() {
        let facts = ClockFacts {
            name: "x".into(),
            ns_per_tick: 1.0,
            cost: Nanoseconds::new(25.0),
            step: Nanoseconds::new(100.0),
            backward: 0,
        };
        assert_eq!(facts.shortest_batch().get(), 50_000.0);
    }
}
