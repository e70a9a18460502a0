use measure::{CaseError, Params, Round};
use platform::on_linux;

use super::{METRICS, THREADS_OR_PROCESSES};
use crate::{Case, Only};

/// The minimal mutex that sleeps while it waits.
pub const CASE: Case = Case {
    area: "lock",
    name: "futex",
    operation: "One lock and unlock of a futex-based mutex of one 32-bit word (after mutexes 2 and \
                3 of Ulrich Drepper's \"Futexes Are Tricky\"): a compare-and-swap and a swap, with \
                futex calls only to wait and to wake.",
    comparable_to: "`perf bench futex` and will-it-scale's `futex1` to `futex4` measure the system \
                call itself, which this lock makes only when a worker waits.",
    only: Only::Linux("exists only on Linux; Windows has WaitOnAddress: see lock/wait-on-address"),
    core_bound: true,
    trials: None,
    params: THREADS_OR_PROCESSES,
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_linux!(params, round, {
        use std::io;
        use std::sync::atomic::AtomicU32;
        use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

        use platform::shared::Shared;

        use super::{Lock, expect_no_calls_alone, measure, of_processes};

        const FREE: u32 = 0;
        const HELD: u32 = 1;
        const HELD_AND_AWAITED: u32 = 2;

        struct Mutex {
            state: Shared<AtomicU32>,
            private: libc::c_int,
        }

        impl Lock for Mutex {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                if self.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
                    self.acquire_slowly();
                }
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                if self.state.swap(FREE, Release) == HELD_AND_AWAITED {
                    self.wake_one();
                }
            }
        }

        impl Mutex {
            #[cold]
            fn acquire_slowly(&self) {
                while self.state.swap(HELD_AND_AWAITED, Acquire) != FREE {
                    self.wait_while(HELD_AND_AWAITED);
                }
            }

            fn wait_while(&self, state: u32) {
                let operation = libc::FUTEX_WAIT | self.private;
                let forever = std::ptr::null::<libc::timespec>();
                // SAFETY: the word lives as long as the process does; no time limit is given.
                let done = unsafe {
                    libc::syscall(libc::SYS_futex, self.state.as_ptr(), operation, state, forever)
                };
                let error = io::Error::last_os_error();
                let harmless = [Some(libc::EAGAIN), Some(libc::EINTR)];
                assert!(done == 0 || harmless.contains(&error.raw_os_error()), "futex: {error}");
            }

            #[cold]
            fn wake_one(&self) {
                let operation = libc::FUTEX_WAKE | self.private;
                // SAFETY: the word lives as long as the process does.
                let woken =
                    unsafe { libc::syscall(libc::SYS_futex, self.state.as_ptr(), operation, 1) };
                assert!(woken >= 0, "futex: {}", io::Error::last_os_error());
            }
        }

        let private = if of_processes(params)? { 0 } else { libc::FUTEX_PRIVATE_FLAG };
        expect_no_calls_alone(params, round)?;
        measure(params, round, &Mutex { state: Shared::new(AtomicU32::new(FREE))?, private })
    })
}
