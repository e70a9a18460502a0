use crate::{Case, only};

/// An hour from now, in units of 100 ns: negative times are relative.
#[allow(dead_code, reason = "not on every system")]
const IN_AN_HOUR: i64 = -super::common::AN_HOUR_S * 10_000_000;

/// Creating and closing a timer for each timeout.
pub const CREATE: Case = Case {
    operation: "One CreateWaitableTimerW without name, one SetWaitableTimer that arms it to expire in an hour, and one \
                CloseHandle.",
    comparable_to: "The counterpart of timer/create-timer.",
    core_bound: true,
    run: run_create,
    ..Case::new("timer", "create-waitable-timer").on_windows()
};

#[only(windows)]
fn run_create(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::ptr::null;

    use windows_sys::Win32::Foundation::CloseHandle;
    use windows_sys::Win32::System::Threading::{CreateWaitableTimerW, SetWaitableTimer};

    // SAFETY: a timer without a name and with default security, closed once; no completion routine.
    round.time_call("CreateWaitableTimerW", || unsafe {
        let timer = CreateWaitableTimerW(null(), 0, null());
        !timer.is_null() && {
            let is_armed = SetWaitableTimer(timer, &IN_AN_HOUR, 0, None, null(), 0) != 0;
            CloseHandle(timer) != 0 && is_armed
        }
    })
}

/// Arming a waitable timer, as an event loop does when its next timeout changes.
pub const ARM: Case = Case {
    name: "arm-waitable-timer",
    operation: "One SetWaitableTimer that arms a timer again, to expire in an hour.",
    comparable_to: "The counterpart of timer/arm-timerfd.",
    run: run_arm,
    ..CREATE
};

#[only(windows)]
fn run_arm(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use std::ptr::null;

    use windows_sys::Win32::System::Threading::{CreateWaitableTimerW, SetWaitableTimer};

    // SAFETY: a timer without a name and with default security; the handle is new.
    let timer = unsafe {
        platform::owned::handle(CreateWaitableTimerW(null(), 0, null()), "CreateWaitableTimerW")
    }?;
    let handle = timer.as_raw_handle();
    // SAFETY: the handle is an open timer; there is no completion routine.
    round.time_call("SetWaitableTimer", || unsafe {
        SetWaitableTimer(handle, &IN_AN_HOUR, 0, None, null(), 0) != 0
    })
}
