use super::wake;
use crate::{Case, Only, only};

/// Waking a thread with futex(2), the lowest-level call of Linux.
pub const CASE: Case = Case {
    operation: "From just before a store of 1 and futex(FUTEX_WAKE) until the thread that slept in \
                futex(FUTEX_WAIT) reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "`perf bench futex wake` times the waking calls alone; schbench and cyclictest \
            measure wake-ups too, of many threads or by a timer. Half a round trip of lmbench's \
            lat_ctx or `perf bench sched pipe` includes the switch away.",
    only: Only::Linux("exists only on Linux; see thread/wake-address for Windows"),
    run,
    ..wake::wake_up("wake-futex")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicU32, Ordering};

    let word = AtomicU32::new(0);
    let sleep = || {
        while word.swap(0, Ordering::AcqRel) == 0 {
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            let forever = std::ptr::null::<libc::timespec>();
            // SAFETY: the word outlives the call; there is no time limit.
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 0, forever) };
        }
    };
    let wake = || {
        word.store(1, Ordering::Release);
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word outlives the call.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
    };
    wake::measure(params, round, sleep, wake)
}
