use crate::{Case, only};

/// Path lookup, allocation of a handle, and its release.
pub const CASE: Case = Case {
    operation: "One CreateFileW that opens this program's own file for reading by its absolute \
                path, and one CloseHandle of the handle.",
    comparable_to: "The Windows counterpart of syscall/open-close. osbench's `create_files` also \
                creates, writes and deletes the file.",
    core_bound: true,
    run,
    ..Case::new("syscall", "create-file-close").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::ffi::OsStrExt;
    use windows_sys::Win32::Foundation::{CloseHandle, GENERIC_READ, INVALID_HANDLE_VALUE};
    use windows_sys::Win32::Storage::FileSystem::{
        CreateFileW, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ, OPEN_EXISTING,
    };

    let path = std::env::current_exe()
        .map_err(|e| measure::CaseError::from_io("finding this program's own file", &e))?;
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    // SAFETY: the path ends with NUL; a handle that was opened is closed.
    round.time_call("CreateFileW", || unsafe {
        let handle = CreateFileW(
            path.as_ptr(),
            GENERIC_READ,
            FILE_SHARE_READ,
            std::ptr::null(),
            OPEN_EXISTING,
            FILE_ATTRIBUTE_NORMAL,
            std::ptr::null_mut(),
        );
        handle != INVALID_HANDLE_VALUE && CloseHandle(handle) != 0
    })
}
