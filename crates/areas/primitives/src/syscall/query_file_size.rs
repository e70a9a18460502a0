use crate::{Case, only};

/// Reading the size of an open file.
pub const CASE: Case = Case {
    operation: "One GetFileSizeEx of an open regular file, which is this program's own.",
    comparable_to: "The Windows counterpart of syscall/fstat.",
    core_bound: true,
    run,
    ..Case::new("syscall", "query-file-size").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Storage::FileSystem::GetFileSizeEx;

    let file = super::own_program()?;
    let (handle, mut size) = (file.as_raw_handle(), 0i64);
    // SAFETY: the handle is open, and `size` is a valid buffer for the result.
    round.time_call("GetFileSizeEx", || unsafe { GetFileSizeEx(handle, &mut size) != 0 })
}
