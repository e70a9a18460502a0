use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::wake;
use crate::{Case, Only};

/// The least that wakes a thread on Windows.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-address",
    operation: "From just before a store of 1 and WakeByAddressSingle until the thread that slept \
                in WaitOnAddress reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "The counterpart of thread/wake-futex.",
    only: Only::Windows("exists only on Windows; see thread/wake-futex"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use std::sync::atomic::{AtomicU32, Ordering};

        use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

        struct Address(AtomicU32);

        impl wake::Sleep for Address {
            fn sleep(&self) {
                let zero = 0u32;
                while self.0.swap(0, Ordering::AcqRel) == 0 {
                    // SAFETY: both places have the size given and outlive the call.
                    unsafe {
                        WaitOnAddress(
                            self.0.as_ptr().cast(),
                            (&raw const zero).cast(),
                            size_of::<u32>(),
                            INFINITE,
                        )
                    };
                }
            }

            #[inline(always)]
            fn wake(&self) {
                self.0.store(1, Ordering::Release);
                // SAFETY: the address is only looked up among those waited for.
                unsafe { WakeByAddressSingle(self.0.as_ptr().cast()) };
            }
        }

        wake::measure(params, round, &Address(AtomicU32::new(0)))
    })
}
