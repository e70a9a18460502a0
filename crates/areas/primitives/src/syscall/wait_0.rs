use crate::{Case, only};

/// Checking whether an event is set, without waiting.
pub const CASE: Case = Case {
    operation: "One WaitForSingleObject with timeout 0 on an event that is not set.",
    comparable_to: "The Windows counterpart of syscall/poll with one descriptor.",
    core_bound: true,
    run,
    ..Case::new("syscall", "wait-0").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
    use windows_sys::Win32::System::Threading::WaitForSingleObject;

    let event = platform::owned::event()?;
    let handle = event.as_raw_handle();
    // SAFETY: the handle is an open event.
    round.time_call("WaitForSingleObject", || unsafe {
        WaitForSingleObject(handle, 0) == WAIT_TIMEOUT
    })
}
