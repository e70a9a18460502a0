use crate::{Case, only};

/// Allocating and releasing a handle, without a path lookup.
pub const CASE: Case = Case {
    operation: "One DuplicateHandle of the handle of a regular file within the process and one \
                CloseHandle of the copy.",
    comparable_to: "The Windows counterpart of syscall/dup-close.",
    core_bound: true,
    run,
    ..Case::new("syscall", "duplicate-handle-close").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Foundation::{CloseHandle, DUPLICATE_SAME_ACCESS, DuplicateHandle};
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    let file = super::own_program()?;
    let (handle, mut copy) = (file.as_raw_handle(), std::ptr::null_mut());
    // SAFETY: the handle is open; the pseudo handle needs no closing; a copy that was
    // made is closed.
    round.time_call("DuplicateHandle", || unsafe {
        let this = GetCurrentProcess();
        let options = DUPLICATE_SAME_ACCESS;
        DuplicateHandle(this, handle, this, &mut copy, 0, 0, options) != 0 && CloseHandle(copy) != 0
    })
}
