use crate::{Case, only};

/// Setting an event, by which a thread wakes another, without a thread that waits.
pub const CASE: Case = Case {
    operation: "One SetEvent of an auto-reset event that is already set and that no thread waits \
                for.",
    comparable_to: "The Windows counterpart of the write in syscall/eventfd.",
    core_bound: true,
    run,
    ..Case::new("syscall", "set-event").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::alone_or_scaled;
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::System::Threading::SetEvent;

    let make = |_| platform::owned::event();
    // SAFETY: the handle is an open event.
    alone_or_scaled(params, round, "SetEvent", make, |event| unsafe {
        SetEvent(event.as_raw_handle()) != 0
    })
}
