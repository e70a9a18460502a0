use crate::{Case, only};

/// The shortest write that transfers data.
pub const CASE: Case = Case {
    operation: "One WriteFile of 1 byte to the device NUL.",
    comparable_to: "The Windows counterpart of syscall/write-1.",
    core_bound: true,
    run,
    ..Case::new("syscall", "write-file-nul").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Storage::FileSystem::WriteFile;

    let opened = std::fs::File::options().write(true).open("NUL");
    let nul = opened.map_err(|e| measure::CaseError::from_io("NUL", &e))?;
    let (handle, byte, mut put) = (nul.as_raw_handle(), [0u8; 1], 0);
    let none = std::ptr::null_mut();
    round.time_call("WriteFile", || {
        // SAFETY: the handle is open; the pointer and count describe `byte`.
        let done = unsafe { WriteFile(handle, byte.as_ptr(), 1, &mut put, none) };
        done != 0 && put == 1
    })
}
