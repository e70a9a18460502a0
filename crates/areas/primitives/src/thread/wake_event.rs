use super::wake;
use crate::{Case, Only, only};

/// Waking a thread that waits for a handle, with SetEvent.
pub const CASE: Case = Case {
    operation: "From just before a SetEvent of an automatic event until the thread that slept in \
                WaitForSingleObject reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "The counterpart of thread/wake-eventfd; syscall/set-event is the call without \
            a thread that waits.",
    only: Only::Windows("exists only on Windows; see thread/wake-eventfd"),
    run,
    ..wake::wake_up("wake-event")
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;

    use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
    use windows_sys::Win32::System::Threading::{INFINITE, SetEvent, WaitForSingleObject};

    let event = platform::owned::event()?;
    let sleep = || {
        // SAFETY: the handle is an open event.
        let waited = unsafe { WaitForSingleObject(event.as_raw_handle(), INFINITE) };
        assert_eq!(waited, WAIT_OBJECT_0, "WaitForSingleObject");
    };
    let wake = || {
        // SAFETY: the handle is an open event.
        let done = unsafe { SetEvent(event.as_raw_handle()) };
        assert_ne!(done, 0, "SetEvent");
    };
    wake::measure(params, round, sleep, wake)
}
