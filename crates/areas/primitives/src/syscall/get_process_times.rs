use crate::{Case, only};

/// Reading the CPU time of the calling process.
pub const CASE: Case = Case {
    operation: "One GetProcessTimes of the calling process.",
    comparable_to: "The Windows counterpart of syscall/getrusage.",
    core_bound: true,
    run,
    ..Case::new("syscall", "get-process-times").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
    // SAFETY: the pseudo handle needs no closing; the four pointers are valid buffers.
    round.time_call("GetProcessTimes", || unsafe {
        let this = GetCurrentProcess();
        GetProcessTimes(this, &mut created, &mut ended, &mut kernel, &mut user) != 0
    })
}
