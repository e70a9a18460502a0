use platform::on_windows;

use crate::{Case, Only};

/// Reading the CPU time of the calling process.
pub const CASE: Case = Case {
    area: "syscall",
    name: "get-process-times",
    operation: "One GetProcessTimes of the calling process.",
    comparable_to: "The Windows counterpart of syscall/getrusage.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::Foundation::FILETIME;
            use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

            let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
            let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
            super::time(round, "GetProcessTimes", || {
                // SAFETY: the pseudo handle needs no closing; the four are valid places.
                unsafe {
                    let this = GetCurrentProcess();
                    GetProcessTimes(this, &mut created, &mut ended, &mut kernel, &mut user) != 0
                }
            })
        })
    },
};
