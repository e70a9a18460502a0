//! Takes all workers of a group through the phases of a round, and verifies mutual exclusion.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use platform::CaseError;
use platform::process::Child;

use super::hand_over::HandOvers;
use super::placement::WorkerGroup;
use super::state::{SharedState, phase};
use crate::round::{Mode, PATIENCE, RoundOrder};
use crate::time::Stopwatch;

/// Maximum time that sampling continues beyond its usual time until each worker has finished its first batch, which takes
/// long under an unfair lock, or a fair one whose next waiter does not run.
const FIRST_BATCH_AT_MOST: Duration = Duration::from_secs(3);
/// Time for hand-overs, and maximum time for the first: one can take several time slices where spinning workers share a
/// CPU.
const HAND_OVERS_AT_MOST: Duration = Duration::from_millis(10);
const FIRST_HAND_OVER_AT_MOST: Duration = Duration::from_millis(200);
/// Takes the worker group through its phases; through those of hand-overs if `hands_over`.
pub(super) fn coordinate(
    order: &RoundOrder,
    state: &SharedState,
    worker_group: &WorkerGroup,
    children: &mut [Child],
    hands_over: bool,
) -> Result<(), CaseError> {
    let all = worker_group.workers as u32;
    wait_for(&state.gathered, all, "gathering", state, children)?;
    state.phase.store(phase::MEASURE, Ordering::Release);
    if order.mode == Mode::Sample {
        // A single worker has enough samples after a third of the time.
        let usual = Duration::from_millis(order.limit_ms);
        let alone = worker_group.workers == 1;
        std::thread::sleep(if alone { usual / 3 } else { usual.max(worker_group.time) });
        let _ = wait_until(&state.begun, all, FIRST_BATCH_AT_MOST);
    } else {
        // Workers end counting after `COUNTED_PAIRS` pairs, or when time is up.
        let _ = wait_until(&state.measured, all, Duration::from_millis(order.limit_ms * 4));
    }
    state.phase.store(phase::STOP, Ordering::Release);
    wait_for(&state.measured, all, "the last batch", state, children)?;
    if hands_over {
        state.phase.store(phase::HAND_OVER, Ordering::Release);
        let made = &state.hand_overs.made;
        let _ = wait_until(made, HandOvers::ENOUGH, HAND_OVERS_AT_MOST)
            || wait_until(made, 1, FIRST_HAND_OVER_AT_MOST);
        state.phase.store(phase::HANDED_OVER, Ordering::Release);
        wait_for(&state.handed_over, all, "the last hand-over", state, children)?;
    }
    state.phase.store(phase::CHECK, Ordering::Release);
    std::thread::sleep(Duration::from_millis(1));
    state.phase.store(phase::LEAVE, Ordering::Release);
    wait_for(&state.left, all, "leaving", state, children)?;
    for child in children {
        let watch = Stopwatch::start();
        let how_it_ended = loop {
            if let Some(how) = child.try_wait() {
                break how;
            }
            if watch.elapsed().get() > PATIENCE.as_nanos() as f64 {
                return Err(CaseError::TimedOut("a worker process did not end".into()));
            }
            std::thread::sleep(Duration::from_micros(100));
        };
        how_it_ended.map_err(|how| ended(state, &how))?;
    }
    Ok(())
}

/// The reason of a worker process that ended in this way: its own if it gave one.
fn ended(state: &SharedState, how: &str) -> CaseError {
    let unknown = || CaseError::Interrupted(format!("a worker process ended with {how}"));
    state.failure.first().unwrap_or_else(unknown)
}

fn wait_until(count: &AtomicU32, all: u32, limit: Duration) -> bool {
    let watch = Stopwatch::start();
    while count.load(Ordering::Acquire) < all {
        if watch.elapsed().get() > limit.as_nanos() as f64 {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    true
}

fn wait_for(
    count: &AtomicU32,
    all: u32,
    what: &str,
    state: &SharedState,
    children: &mut [Child],
) -> Result<(), CaseError> {
    let watch = Stopwatch::start();
    while count.load(Ordering::Acquire) < all {
        if let Some(reason) = state.failure.first() {
            return Err(reason);
        }
        // A child that ended normally has incremented the count before.
        for child in children.iter_mut() {
            if let Some(Err(how)) = child.try_wait() {
                return Err(ended(state, &how));
            }
        }
        if watch.elapsed().get() > PATIENCE.as_nanos() as f64 {
            return Err(CaseError::TimedOut(format!("{what} took over {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// Fails the round if the counter that only the lock protects differs from the number of increments.
pub(super) fn verify_exclusion(state: &SharedState) -> Result<(), CaseError> {
    let slots = &state.slots;
    let checked: u64 = slots.iter().map(|s| s.checked.load(Ordering::Acquire)).sum();
    let counted = state.unprotected.load(Ordering::Acquire);
    if counted == checked {
        return Ok(());
    }
    Err(CaseError::Failed(format!(
        "mutual exclusion is broken: {checked} times inside, and a counter there reached {counted}"
    )))
}
