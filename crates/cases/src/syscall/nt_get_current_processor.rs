use crate::{Case, on_windows};

/// The shortest system call of Windows.
pub const CASE: Case = Case {
    operation: "One NtGetCurrentProcessorNumber of ntdll, which enters the kernel; kernel32's \
                GetCurrentProcessorNumber does not.",
    comparable_to: "The Windows counterpart of syscall/getppid: the call has no arguments, does \
                almost no work and cannot fail.",
    core_bound: true,
    run: on_windows!(|_, round| {
        #[link(name = "ntdll")]
        unsafe extern "system" {
            safe fn NtGetCurrentProcessorNumber() -> u32;
        }

        super::time(round, "NtGetCurrentProcessorNumber", || NtGetCurrentProcessorNumber() < 4096)
    }),
    ..Case::new("syscall", "nt-get-current-processor").on_windows()
};
