use crate::{Case, only};

/// A read without its data transfer.
pub const CASE: Case = Case {
    operation: "One ReadFile of 0 bytes from a regular file, which is this program's own.",
    comparable_to: "The Windows counterpart of syscall/read-0.",
    core_bound: true,
    run,
    ..Case::new("syscall", "read-file-0").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Storage::FileSystem::ReadFile;

    let file = super::own_program()?;
    let (handle, none) = (file.as_raw_handle(), std::ptr::null_mut());
    let (mut nothing, mut got) = ([0u8; 1], 0);
    // SAFETY: the handle is open, and nothing is written for a count of 0.
    round.time_call("ReadFile", || unsafe {
        ReadFile(handle, nothing.as_mut_ptr(), 0, &mut got, none) != 0
    })
}
