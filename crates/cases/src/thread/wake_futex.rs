use measure::{CaseError, Params, Round};
use platform::on_linux;

use super::wake;
use crate::{Case, Only};

/// The least that wakes a thread.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-futex",
    operation: "From just before a store of 1 and futex(FUTEX_WAKE) until the thread that slept in \
                futex(FUTEX_WAIT) reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "`perf bench futex wake` times the waking calls alone; schbench and cyclictest \
            measure wake-ups too, of many threads or by a timer. Half a round trip of lmbench's \
            lat_ctx or `perf bench sched pipe` includes the switch away.",
    only: Only::Linux("exists only on Linux; see thread/wake-address for Windows"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_linux!(params, round, {
        use std::sync::atomic::{AtomicU32, Ordering};

        struct Futex(AtomicU32);

        impl wake::Sleep for Futex {
            fn sleep(&self) {
                while self.0.swap(0, Ordering::AcqRel) == 0 {
                    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                    let forever = std::ptr::null::<libc::timespec>();
                    // SAFETY: the word outlives the call; there is no time limit.
                    unsafe {
                        libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 0, forever)
                    };
                }
            }

            #[inline(always)]
            fn wake(&self) {
                self.0.store(1, Ordering::Release);
                let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
                // SAFETY: the word outlives the call.
                unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 1) };
            }
        }

        wake::measure(params, round, &Futex(AtomicU32::new(0)))
    })
}
