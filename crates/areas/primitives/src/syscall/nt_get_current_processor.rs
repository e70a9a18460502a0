use crate::{Case, only};

/// The shortest system call of Windows.
pub const CASE: Case = Case {
    operation: "One NtGetCurrentProcessorNumber of ntdll, which enters the kernel; kernel32's \
                GetCurrentProcessorNumber does not.",
    comparable_to: "The Windows counterpart of syscall/getppid: the call has no arguments, does \
                almost no work and cannot fail.",
    core_bound: true,
    run,
    ..Case::new("syscall", "nt-get-current-processor").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    #[link(name = "ntdll")]
    unsafe extern "system" {
        safe fn NtGetCurrentProcessorNumber() -> u32;
    }

    round.time_call("NtGetCurrentProcessorNumber", || NtGetCurrentProcessorNumber() < 4096)
}
