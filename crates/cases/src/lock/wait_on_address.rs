use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// The minimal mutex on Windows that sleeps while it waits.
pub const CASE: Case = Case {
    area: "lock",
    name: "wait-on-address",
    operation: "One lock and unlock of the one-word mutex of lock/futex: a compare-and-swap and a \
                swap, with WaitOnAddress and WakeByAddressSingle only to wait and to wake.",
    comparable_to: "The Windows counterpart of lock/futex, with the same algorithm, but only for \
                threads of one process.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use std::io;
        use std::sync::atomic::AtomicU32;
        use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

        use platform::shared::Shared;
        use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

        use super::{Lock, measure};

        const FREE: u32 = 0;
        const HELD: u32 = 1;
        const HELD_AND_AWAITED: u32 = 2;

        struct Mutex(Shared<AtomicU32>);

        impl Lock for Mutex {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
                    acquire_slowly(&self.0);
                }
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                if self.0.swap(FREE, Release) == HELD_AND_AWAITED {
                    // SAFETY: the address is only compared with those that threads wait on.
                    unsafe { WakeByAddressSingle(self.0.as_ptr().cast()) };
                }
            }
        }

        #[cold]
        fn acquire_slowly(state: &AtomicU32) {
            while state.swap(HELD_AND_AWAITED, Acquire) != FREE {
                let while_it_is = HELD_AND_AWAITED;
                // SAFETY: both buffers have the given size and outlive the call.
                let done = unsafe {
                    WaitOnAddress(
                        state.as_ptr().cast(),
                        (&raw const while_it_is).cast(),
                        size_of::<u32>(),
                        INFINITE,
                    )
                };
                assert!(done != 0, "WaitOnAddress: {}", io::Error::last_os_error());
            }
        }

        measure(params, round, &Mutex(Shared::new(AtomicU32::new(FREE))?))
    })
}
