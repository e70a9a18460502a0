use platform::on_windows;

use crate::{Case, Only};

/// An hour from now, in units of 100 ns: negative times are relative.
#[allow(dead_code, reason = "not on every system")]
const IN_AN_HOUR: i64 = -super::AN_HOUR_S * 10_000_000;

/// A timer of its own for each timeout.
pub const CREATE: Case = Case {
    area: "timer",
    name: "create-waitable-timer",
    operation: "One CreateWaitableTimerW without name, one SetWaitableTimer that arms it to expire in an hour, and one \
                CloseHandle.",
    comparable_to: "The counterpart of timer/create-timer.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use std::ptr::null;

            use windows_sys::Win32::Foundation::CloseHandle;
            use windows_sys::Win32::System::Threading::{CreateWaitableTimerW, SetWaitableTimer};

            crate::syscall::time(round, "CreateWaitableTimerW", || {
                // SAFETY: a timer without name and with the usual security, closed once; no completion routine.
                unsafe {
                    let timer = CreateWaitableTimerW(null(), 0, null());
                    !timer.is_null() && {
                        let is_armed =
                            SetWaitableTimer(timer, &IN_AN_HOUR, 0, None, null(), 0) != 0;
                        CloseHandle(timer) != 0 && is_armed
                    }
                }
            })
        })
    },
};

/// What an event loop does whenever its next timeout changes.
pub const ARM: Case = Case {
    name: "arm-waitable-timer",
    operation: "One SetWaitableTimer that arms a timer again, to expire in an hour.",
    comparable_to: "The counterpart of timer/arm-timerfd.",
    run: |_, round| {
        on_windows!(round, {
            use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
            use std::ptr::null;

            use windows_sys::Win32::System::Threading::{CreateWaitableTimerW, SetWaitableTimer};

            // SAFETY: a timer without name and with the usual security.
            let handle = unsafe { CreateWaitableTimerW(null(), 0, null()) };
            if handle.is_null() {
                return Err(measure::CaseError::last_os_error("CreateWaitableTimerW"));
            }
            // SAFETY: the handle was just opened and is owned by nothing else.
            let timer = unsafe { OwnedHandle::from_raw_handle(handle) };
            let handle = timer.as_raw_handle();
            crate::syscall::time(round, "SetWaitableTimer", || {
                // SAFETY: the handle is an open timer; there is no completion routine.
                unsafe { SetWaitableTimer(handle, &IN_AN_HOUR, 0, None, null(), 0) != 0 }
            })
        })
    },
    ..CREATE
};
