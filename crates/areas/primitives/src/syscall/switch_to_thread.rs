use crate::{Case, only};

/// Yielding when no other thread can run.
pub const CASE: Case = Case {
    operation: "One SwitchToThread on a CPU with no other runnable thread.",
    comparable_to: "The Windows counterpart of syscall/sched-yield.",
    run,
    ..Case::new("syscall", "switch-to-thread").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Threading::SwitchToThread;

    round.time(|| {
        // SAFETY: takes no argument. The result, whether another thread ran, is not needed.
        std::hint::black_box(unsafe { SwitchToThread() });
    })
}
