use platform::on_windows;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// How a thread wakes another, without the waking.
pub const CASE: Case = Case {
    area: "scale",
    name: "set-event",
    operation: "One SetEvent of an automatic event that is set already and that nobody waits for.",
    comparable_to: "The counterpart of the write in scale/eventfd.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_windows!(params, round, {
            use super::scale;
            use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
            use std::ptr::null;
            use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

            let make = |_| {
                // SAFETY: an event without name and with the usual security.
                let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
                if handle.is_null() {
                    return Err(measure::CaseError::last_os_error("CreateEventW"));
                }
                // SAFETY: the handle was just opened and is ours alone.
                Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
            };
            // SAFETY: the handle is an open event.
            scale(params, round, "SetEvent", make, |event| unsafe {
                SetEvent(event.as_raw_handle()) != 0
            })
        })
    },
};
