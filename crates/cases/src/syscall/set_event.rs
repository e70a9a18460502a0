use platform::on_windows;

use crate::{Case, Only};

/// The call by which a thread wakes another, without blocking and waking.
pub const CASE: Case = Case {
    area: "syscall",
    name: "set-event",
    operation: "One SetEvent of an auto-reset event that is already set and that no thread waits \
                for.",
    comparable_to: "The Windows counterpart of the write in syscall/eventfd.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
            use std::ptr::null;
            use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

            // SAFETY: an event without a name and with the default security descriptor.
            let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
            if handle.is_null() {
                return Err(measure::CaseError::last_os_error("CreateEventW"));
            }
            // SAFETY: the handle was just opened and is ours alone.
            let event = unsafe { OwnedHandle::from_raw_handle(handle) };
            let handle = event.as_raw_handle();
            super::time(round, "SetEvent", || {
                // SAFETY: the handle is an open event.
                unsafe { SetEvent(handle) != 0 }
            })
        })
    },
};
