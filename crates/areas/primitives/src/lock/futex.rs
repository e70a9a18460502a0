use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use measure::{CaseError, Params, Round};
use platform::memory::address_wait::{Sharing, wait_while, wake_one};
use platform::memory::shared::Shared;

use super::{THREADS_OR_PROCESSES, expect_no_calls_alone, lock, measure, of_processes};
use crate::{Case, Only};

/// The minimal mutex whose waiters sleep, by futex(2).
pub const CASE: Case = Case {
    operation: "One lock and unlock of a futex-based mutex of one 32-bit word (after mutexes 2 and \
                3 of Ulrich Drepper's \"Futexes Are Tricky\"): a compare-and-swap and a swap, with \
                futex calls only to wait and to wake.",
    comparable_to: "`perf bench futex` and will-it-scale's `futex1` to `futex4` measure the system \
                call itself, which this lock makes only when a worker waits.",
    only: Only::Linux("exists only on Linux; Windows has WaitOnAddress: see lock/wait-on-address"),
    params: THREADS_OR_PROCESSES,
    run,
    ..lock("futex")
};

/// The minimal mutex whose waiters sleep, by WaitOnAddress.
pub const WAIT_ON_ADDRESS: Case = Case {
    operation: "One lock and unlock of the one-word mutex of lock/futex: a compare-and-swap and a \
                swap, with WaitOnAddress and WakeByAddressSingle only to wait and to wake.",
    comparable_to: "The Windows counterpart of lock/futex, with the same algorithm, but only for \
                threads of one process.",
    run,
    ..lock("wait-on-address").on_windows()
};

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_AND_AWAITED: u32 = 2;

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let sharing = if of_processes(params)? { Sharing::Processes } else { Sharing::Threads };
    let state = Shared::new(AtomicU32::new(FREE))?;
    let acquire = move || {
        if state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            acquire_slowly(&state, sharing);
        }
    };
    let release = move || {
        if state.swap(FREE, Release) == HELD_AND_AWAITED {
            wake(&state, sharing);
        }
    };
    expect_no_calls_alone(params, round)?;
    measure(params, round, &(acquire, release))
}

#[cold]
fn acquire_slowly(state: &AtomicU32, sharing: Sharing) {
    while state.swap(HELD_AND_AWAITED, Acquire) != FREE {
        wait_while(state, HELD_AND_AWAITED, sharing).expect("waiting for the lock");
    }
}

#[cold]
fn wake(state: &AtomicU32, sharing: Sharing) {
    wake_one(state, sharing).expect("waking a waiter");
}
