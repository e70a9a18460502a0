use crate::{Case, only};

/// Path lookup, and reading the attributes of the file.
pub const CASE: Case = Case {
    operation: "One GetFileAttributesW of this program's own file by its absolute path.",
    comparable_to: "The counterpart of syscall/access and syscall/stat.",
    core_bound: true,
    run,
    ..Case::new("syscall", "get-file-attributes").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::ffi::OsStrExt;
    use windows_sys::Win32::Storage::FileSystem::{GetFileAttributesW, INVALID_FILE_ATTRIBUTES};

    let path = std::env::current_exe();
    let path =
        path.map_err(|e| measure::CaseError::from_io("finding this program's own file", &e))?;
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    // SAFETY: the path ends with a zero.
    round.time_call("GetFileAttributesW", || unsafe {
        GetFileAttributesW(path.as_ptr()) != INVALID_FILE_ATTRIBUTES
    })
}
