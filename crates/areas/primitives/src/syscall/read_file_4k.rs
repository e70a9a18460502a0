use crate::{Case, only};

/// Reading 4 KiB from the page cache.
pub const CASE: Case = Case {
    operation: "One ReadFile of the first 4,096 bytes of this program's own file, which is in the \
                page cache; the file offset is passed with the call.",
    comparable_to: "The Windows counterpart of syscall/pread-4k.",
    core_bound: true,
    run,
    ..Case::new("syscall", "read-file-4k").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Storage::FileSystem::ReadFile;
    use windows_sys::Win32::System::IO::OVERLAPPED;

    let file = super::own_program()?;
    let (handle, mut page, mut got) = (file.as_raw_handle(), [0u8; 4096], 0);
    round.time_call("ReadFile", || {
        // SAFETY: an all-zero structure means position 0 and no event.
        let mut start: OVERLAPPED = unsafe { std::mem::zeroed() };
        // SAFETY: the handle is open; the pointer and count describe `page`, and the call
        // is synchronous, since the file was not opened for overlapped I/O.
        let done = unsafe { ReadFile(handle, page.as_mut_ptr(), 4096, &mut got, &mut start) };
        done != 0 && got == 4096
    })
}
