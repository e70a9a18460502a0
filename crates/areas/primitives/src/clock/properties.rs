//! The properties of a clock: its resolution, and whether it ever goes backwards.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use measure::round::Mode;
use measure::time::Stopwatch;
use measure::{Combine, Round, metrics};
use platform::counters::involuntary_switches;
use platform::cpu::pin_thread;

/// Maximum number of changes of a clock that are recorded.
const CHANGES: usize = 20_000;
/// Readings of the clock between two checks of the time limit.
const BURST: usize = 64;
/// Time for which a clock is read after its first change, or in all if it is not expected to change.
pub const BRIEFLY: Duration = Duration::from_millis(1);
/// Time to wait for the first change of a clock: longer than the tick of most kernels.
pub const UNTIL_TICK: Duration = Duration::from_millis(12);
/// Maximum time for a thread to move to its CPU.
const UNTIL_THERE: Duration = Duration::from_millis(100);

metrics! {
    /// Metrics of every clock; steps back are summed over all rounds.
    pub const METRICS: [
        STEP = lower("step", "ns").combined(Combine::Least),
            "the smallest difference between two consecutive readings that differ";
        GRANULARITY = lower("granularity", "ns"),
            "the mean difference between two consecutive readings that differ, without the least and the greatest tenth: \
             the cost of a reading for a fine clock, the tick for a coarse one";
        BACK = lower("back", "steps").combined(Combine::Sum), "readings lower than the previous one, on one CPU";
        BACK_ACROSS_CPUS = lower("back-across-cpus", "steps").combined(Combine::Sum),
            "readings lower than an earlier one on another CPU";
    ]
}

/// Reads a clock in a loop on this CPU and reports `step`, `granularity` and `back`. Reports neither step nor granularity if the
/// clock does not change within `patience`.
pub fn on_one_cpu(round: &mut Round, ns_per_unit: f64, patience: Duration, read: impl Fn() -> u64) {
    if round.order().mode != Mode::Sample {
        return;
    }
    let seen = watch(patience, read);
    if let Some((step, granularity)) = seen.step_and_granularity {
        round.metric(&STEP, step as f64 * ns_per_unit);
        round.metric(&GRANULARITY, granularity * ns_per_unit);
    }
    round.metric(&BACK, seen.back as f64);
}

/// Reports `back-across-cpus` of a clock that all threads share. Reports nothing if there is no second
/// CPU.
pub fn across_cpus(round: &mut Round, read: impl Fn() -> u64 + Sync) {
    let Some((_, others)) = round.order().cpus.split_last() else { return };
    if others.is_empty() || round.order().mode != Mode::Sample {
        return;
    }
    // Each round takes a different CPU, so that a run covers many.
    let other = others[std::process::id() as usize % others.len()];
    if let Some(back) = backward_between(|| pin_thread(other).is_ok(), read) {
        round.metric(&BACK_ACROSS_CPUS, back as f64);
    }
}

/// Maximum time to wait for a change of a clock that ticks every second. If the next tick is less than 150 ms away, sleeps until
/// just before it (11 ms on average over all rounds); most rounds do not wait for the tick.
pub fn patience_for_the_second() -> Duration {
    const SOON: Duration = Duration::from_millis(150);
    const BEFORE: Duration = Duration::from_millis(1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into());
    if left > SOON {
        return BRIEFLY;
    }
    std::thread::sleep(left.saturating_sub(BEFORE));
    UNTIL_TICK
}

/// The observed properties of a clock, in its own units.
struct ClockProperties {
    step_and_granularity: Option<(u64, f64)>,
    back: u64,
}

/// Reads a clock in a loop. Discards differences during which this thread was preempted: for a coarse
/// clock they would span several ticks, and on a busy CPU they would be the majority.
fn watch(patience: Duration, read: impl Fn() -> u64) -> ClockProperties {
    let mut differences = Vec::with_capacity(CHANGES + BURST);
    let (mut back, mut last) = (0, read());
    let (mut switches, watch) = (involuntary_switches(), Stopwatch::start());
    loop {
        let before = differences.len();
        for _ in 0..BURST {
            let now = read();
            if now > last {
                differences.push(now - last);
            } else if now < last {
                back += 1;
            }
            last = now;
        }
        let switches_before = std::mem::replace(&mut switches, involuntary_switches());
        if switches != switches_before {
            differences.truncate(before);
        }
        let enough = if differences.is_empty() { patience } else { BRIEFLY };
        if differences.len() >= CHANGES || is_over(watch, enough) {
            break;
        }
    }
    differences.sort_unstable();
    let step = differences.first().copied();
    ClockProperties {
        step_and_granularity: step.map(|step| (step, trimmed_mean(&differences))),
        back,
    }
}

/// The mean of sorted values without a tenth at each end. The median would jump by a step of the clock if a reading takes a little
/// longer: by a third where readings 30 and 40 ns apart are about as frequent.
fn trimmed_mean(sorted: &[u64]) -> f64 {
    let tenth = sorted.len() / 10;
    let middle = &sorted[tenth..sorted.len() - tenth];
    middle.iter().map(|&value| value as f64).sum::<f64>() / middle.len() as f64
}

/// Counts the readings of a clock that are lower than the latest one of another thread: this thread and another one read the
/// clock for 1 ms, and each loads the latest reading of both before its own. `None` if the other thread did not reach its CPU in
/// time.
fn backward_between(
    take_place: impl FnOnce() -> bool + Send,
    read: impl Fn() -> u64 + Sync,
) -> Option<u64> {
    let latest = AtomicU64::new(0);
    let (ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let went_back = || {
        let seen = latest.load(Ordering::Acquire);
        let now = read();
        latest.fetch_max(now, Ordering::AcqRel);
        u64::from(now < seen)
    };
    let burst = || (0..BURST).map(|_| went_back()).sum::<u64>();
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || {
            if !take_place() {
                return None;
            }
            let mut back = 0;
            ready.store(true, Ordering::Release);
            // A last comparison after the end makes even a thread that started late compare once.
            while !stop.load(Ordering::Acquire) {
                back += burst();
            }
            Some(back + burst())
        });
        let other = other.ok()?;
        let (there, wait) = (|| ready.load(Ordering::Acquire), Stopwatch::start());
        while !there() && !other.is_finished() && !is_over(wait, UNTIL_THERE) {
            // The other thread starts on this thread's CPU, to which this thread is pinned.
            std::thread::yield_now();
        }
        let (is_there, look) = (there(), Stopwatch::start());
        let mut back = burst();
        while is_there && !is_over(look, BRIEFLY) {
            back += burst();
        }
        stop.store(true, Ordering::Release);
        let theirs = other.join().ok()??;
        is_there.then_some(back + theirs)
    })
}

fn is_over(watch: Stopwatch, time: Duration) -> bool {
    watch.elapsed().get() >= time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Time limit for changes that occur at once, unless the machine is busy.
    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn the_tick_of_a_coarse_clock_is_measured() {
        let readings = Cell::new(0);
        let seen = watch(LONG, || {
            readings.set(readings.get() + 1);
            readings.get() / 100 * 4_000_000
        });
        assert_eq!(seen.step_and_granularity, Some((4_000_000, 4e6)));
        assert_eq!(seen.back, 0);
    }

    #[test]
    fn granularity_does_not_jump_by_a_step_of_the_clock() {
        let granularity = |long: u64| {
            let (now, readings) = (Cell::new(0), Cell::new(0u64));
            let seen = watch(LONG, || {
                readings.set(readings.get() + 1);
                now.set(now.get() + if readings.get() % 100 < long { 40 } else { 30 });
                now.get()
            });
            seen.step_and_granularity.unwrap().1
        };
        let [fewer, more] = [granularity(49), granularity(51)];
        assert!(more / fewer < 1.02 && (34.0..36.0).contains(&fewer), "{fewer} and {more}");
    }

    #[test]
    fn step_is_the_smallest_and_granularity_the_mean_of_most() {
        let (now, readings) = (Cell::new(0), Cell::new(0u64));
        let seen = watch(LONG, || {
            readings.set(readings.get() + 1);
            now.set(now.get() + if readings.get().is_multiple_of(30) { 5 } else { 25 });
            now.get()
        });
        assert_eq!(seen.step_and_granularity, Some((5, 25.0)));
    }

    #[test]
    fn a_clock_that_goes_backwards_is_detected() {
        let readings = Cell::new(0u64);
        let seen = watch(BRIEFLY, || {
            readings.set(readings.get() + 1);
            if readings.get() == 30 { 10 } else { readings.get() }
        });
        assert_eq!(seen.back, 1);
    }

    #[test]
    fn a_stopped_clock_has_no_step() {
        let seen = watch(BRIEFLY, || 7);
        assert_eq!(seen.step_and_granularity, None);
        assert_eq!(seen.back, 0);
    }

    #[test]
    fn a_cpu_whose_clock_is_behind_is_detected() {
        let base = std::time::Instant::now();
        let mine = std::thread::current().id();
        let ns = || 1_000_000_000 + base.elapsed().as_nanos() as u64;
        let behind = || ns() - if std::thread::current().id() == mine { 0 } else { 500_000_000 };
        // Repeats the measurement, since the other thread may start too late on a busy machine.
        let repeated = |read: &(dyn Fn() -> u64 + Sync)| {
            (0..100).find_map(|_| backward_between(|| true, read)).unwrap()
        };
        assert!(repeated(&behind) > 0);
        assert_eq!(repeated(&ns), 0);
        assert_eq!(backward_between(|| false, ns), None);
    }
}
