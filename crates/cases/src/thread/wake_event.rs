use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::wake;
use crate::{Case, Only};

/// What wakes a thread that waits for handles.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-event",
    operation: "From just before a SetEvent of an automatic event until the thread that slept in \
                WaitForSingleObject reads the clock, the median of a trial's wake-ups; the waking \
                thread then waits.",
    comparable_to: "The counterpart of thread/wake-eventfd; syscall/set-event is the call without \
            a thread that waits.",
    only: Only::Windows("exists only on Windows; see thread/wake-eventfd"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
        use std::ptr::null;

        use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
        use windows_sys::Win32::System::Threading::{
            CreateEventW, INFINITE, SetEvent, WaitForSingleObject,
        };

        struct Event(OwnedHandle);

        impl wake::Sleep for Event {
            fn sleep(&self) {
                // SAFETY: the handle is an open event.
                let waited = unsafe { WaitForSingleObject(self.0.as_raw_handle(), INFINITE) };
                assert_eq!(waited, WAIT_OBJECT_0, "WaitForSingleObject");
            }

            #[inline(always)]
            fn wake(&self) {
                // SAFETY: as above.
                let done = unsafe { SetEvent(self.0.as_raw_handle()) };
                assert_ne!(done, 0, "SetEvent");
            }
        }

        // SAFETY: an event without name and with the usual security.
        let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
        if handle.is_null() {
            return Err(CaseError::last_os_error("CreateEventW"));
        }
        // SAFETY: the handle was just opened and is this value's alone.
        let way = Event(unsafe { OwnedHandle::from_raw_handle(handle) });
        wake::measure(params, round, &way)
    })
}
