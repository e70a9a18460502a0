use platform::on_windows;

use crate::{Case, Only};

/// The cheapest way into the Windows kernel and back.
pub const CASE: Case = Case {
    area: "syscall",
    name: "nt-get-current-processor",
    operation: "One NtGetCurrentProcessorNumber, made in ntdll itself: the function of kernel32 \
                that asks the same stays out of the kernel.",
    comparable_to: "The counterpart of syscall/getppid: it takes nothing, does next to nothing and cannot \
            fail.",
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
