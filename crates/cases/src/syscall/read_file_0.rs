use platform::on_windows;

use crate::{Case, Only};

/// A read without its data transfer.
pub const CASE: Case = Case {
    area: "syscall",
    name: "read-file-0",
    operation: "One ReadFile of 0 bytes from a regular file, which is this program's own.",
    comparable_to: "The Windows counterpart of syscall/read-0.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use std::os::windows::io::AsRawHandle;
            use windows_sys::Win32::Storage::FileSystem::ReadFile;

            let file = super::own_program()?;
            let (handle, none) = (file.as_raw_handle(), std::ptr::null_mut());
            let (mut nothing, mut got) = ([0u8; 1], 0);
            super::time(round, "ReadFile", || {
                // SAFETY: the handle is open, and nothing is written for a count of 0.
                unsafe { ReadFile(handle, nothing.as_mut_ptr(), 0, &mut got, none) != 0 }
            })
        })
    },
};
