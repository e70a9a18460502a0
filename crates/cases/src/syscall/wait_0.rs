use platform::on_windows;

use crate::{Case, Only};

/// Checking whether an event is set, without waiting.
pub const CASE: Case = Case {
    area: "syscall",
    name: "wait-0",
    operation: "One WaitForSingleObject with timeout 0 on an event that is not set.",
    comparable_to: "The Windows counterpart of syscall/poll with one descriptor.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
            use std::ptr::null;
            use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
            use windows_sys::Win32::System::Threading::{CreateEventW, WaitForSingleObject};

            // SAFETY: an event without a name and with the default security descriptor.
            let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
            if handle.is_null() {
                return Err(measure::CaseError::last_os_error("CreateEventW"));
            }
            // SAFETY: the handle was just opened and is ours alone.
            let event = unsafe { OwnedHandle::from_raw_handle(handle) };
            let handle = event.as_raw_handle();
            super::time(round, "WaitForSingleObject", || {
                // SAFETY: the handle is an open event.
                unsafe { WaitForSingleObject(handle, 0) == WAIT_TIMEOUT }
            })
        })
    },
};
