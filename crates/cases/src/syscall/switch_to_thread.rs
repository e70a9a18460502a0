use platform::on_windows;

use crate::{Case, Only};

/// A call of the scheduler that finds no other thread to run.
pub const CASE: Case = Case {
    area: "syscall",
    name: "switch-to-thread",
    operation: "One SwitchToThread on a CPU with no other runnable thread.",
    comparable_to: "The Windows counterpart of syscall/sched-yield.",
    only: Only::Windows("exists only on Windows"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::Threading::SwitchToThread;

            round.time(|| {
                // SAFETY: takes no argument. The result says whether another thread ran; both are fine.
                std::hint::black_box(unsafe { SwitchToThread() });
            })
        })
    },
};
