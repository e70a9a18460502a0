use crate::{Case, on_windows};

/// Yielding when no other thread can run.
pub const CASE: Case = Case {
    operation: "One SwitchToThread on a CPU with no other runnable thread.",
    comparable_to: "The Windows counterpart of syscall/sched-yield.",
    run: on_windows!(|_, round| {
        use windows_sys::Win32::System::Threading::SwitchToThread;

        round.time(|| {
            // SAFETY: takes no argument. The result, whether another thread ran, is not needed.
            std::hint::black_box(unsafe { SwitchToThread() });
        })
    }),
    ..Case::new("syscall", "switch-to-thread").on_windows()
};
