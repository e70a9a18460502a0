use super::wake;
use crate::{Case, Only, only};

/// Waking a thread with WakeByAddressSingle, the lowest-level call of Windows.
pub const CASE: Case = Case {
    operation: "From just before a store of 1 and WakeByAddressSingle until the thread that slept \
                in WaitOnAddress reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "The counterpart of thread/wake-futex.",
    only: Only::Windows("exists only on Windows; see thread/wake-futex"),
    run,
    ..wake::wake_up("wake-address")
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicU32, Ordering};

    use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

    let word = AtomicU32::new(0);
    let sleep = || {
        let zero = 0u32;
        while word.swap(0, Ordering::AcqRel) == 0 {
            let (place, value) = (word.as_ptr().cast(), (&raw const zero).cast());
            // SAFETY: both pointers are to objects of the given size that outlive the call.
            unsafe { WaitOnAddress(place, value, size_of::<u32>(), INFINITE) };
        }
    };
    let wake = || {
        word.store(1, Ordering::Release);
        // SAFETY: the address is only looked up among those that threads wait for.
        unsafe { WakeByAddressSingle(word.as_ptr().cast()) };
    };
    wake::measure(params, round, sleep, wake)
}
