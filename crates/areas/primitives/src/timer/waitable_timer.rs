use measure::{CaseError, Params, Round};

use super::sleep::IN_MS;
use super::{ALL_LENGTHS, BY_TICKS, PARAMS, metrics};
use crate::{Case, only};

/// Sleeping with a waitable timer.
pub const CASE: Case = Case {
    operation: "One SetWaitableTimer that arms a timer once, and one WaitForSingleObject until it is signalled. It \
                is signalled at a tick of the system's timer, which may be early.",
    comparable_to: "The counterpart of timer/timerfd.",
    trials: Some(BY_TICKS),
    params: IN_MS,
    metrics: metrics::BY_TICKS,
    run: |params, round| run(params, round, Resolution::Ordinary),
    ..Case::new("timer", "waitable-timer").on_windows()
};

/// Sleeping with a high-resolution timer, the most accurate of Windows.
pub const HIGH_RESOLUTION: Case = Case {
    name: "waitable-timer-high-resolution",
    operation: "The same with a timer made with CREATE_WAITABLE_TIMER_HIGH_RESOLUTION (Windows 10 1803), which does \
                not wait for a tick.",
    comparable_to: "The counterpart of timer/nanosleep for short sleeps.",
    trials: Some(ALL_LENGTHS),
    params: PARAMS,
    run: |params, round| run(params, round, Resolution::High),
    ..CASE
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Resolution {
    Ordinary,
    High,
}

#[only(windows)]
fn run(params: &Params, round: &mut Round, resolution: Resolution) -> Result<(), CaseError> {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::null;

    use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
    use windows_sys::Win32::System::Threading::{
        CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
        TIMER_ALL_ACCESS, WaitForSingleObject,
    };

    let flags = match resolution {
        Resolution::Ordinary => 0,
        Resolution::High => CREATE_WAITABLE_TIMER_HIGH_RESOLUTION,
    };
    // SAFETY: a timer without a name and with default security, which a wait resets.
    let handle = unsafe { CreateWaitableTimerExW(null(), null(), flags, TIMER_ALL_ACCESS) };
    if handle.is_null() {
        let reason = std::io::Error::last_os_error();
        // Versions of Windows without the flag report an invalid parameter.
        return Err(CaseError::Unsupported(format!("CreateWaitableTimerExW: {reason}")));
    }
    // SAFETY: the handle was just opened and has no other owner.
    let timer = unsafe { OwnedHandle::from_raw_handle(handle) };
    let handle = timer.as_raw_handle();
    let sleeper = super::Sleeper { name: "a waitable timer", syscalls: 2.0, may_end_early: true };
    super::measure(params, round, sleeper, |length, _| {
        // The time is in units of 100 ns; negative times are relative.
        let due = -(length.as_nanos().div_ceil(100) as i64);
        // SAFETY: the handle is an open timer; there is no completion routine.
        let waited = unsafe {
            if SetWaitableTimer(handle, &due, 0, None, null(), 0) == 0 {
                return Err(CaseError::last_os_error("SetWaitableTimer"));
            }
            WaitForSingleObject(handle, INFINITE)
        };
        match waited {
            WAIT_OBJECT_0 => Ok(()),
            _ => Err(CaseError::last_os_error("WaitForSingleObject")),
        }
    })
}
