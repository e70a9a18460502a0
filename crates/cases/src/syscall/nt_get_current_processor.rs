use platform::on_windows;

use crate::{Case, Only};

/// The shortest system call of Windows.
pub const CASE: Case = Case {
    area: "syscall",
    name: "nt-get-current-processor",
    operation: "One NtGetCurrentProcessorNumber of ntdll, which enters the kernel; kernel32's \
                GetCurrentProcessorNumber does not.",
    comparable_to: "The Windows counterpart of syscall/getppid: the call has no arguments, does \
                almost no work and cannot fail.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            #[link(name = "ntdll")]
            unsafe extern "system" {
                safe fn NtGetCurrentProcessorNumber() -> u32;
            }

            super::time(round, "NtGetCurrentProcessorNumber", || {
                NtGetCurrentProcessorNumber() < 4096
            })
        })
    },
};
