use platform::on_windows;

use crate::{Case, Only};

/// A trip to the scheduler that finds nobody else to run.
pub const CASE: Case = Case {
    area: "syscall",
    name: "switch-to-thread",
    operation: "One SwitchToThread on a CPU where nothing else waits to run.",
    comparable_to: "The counterpart of syscall/sched-yield.",
    only: Only::Windows("exists only on Windows"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::Threading::SwitchToThread;

            round.time(|| {
                // SAFETY: takes nothing. Its answer, whether another thread ran, is no failure.
                std::hint::black_box(unsafe { SwitchToThread() });
            })
        })
    },
};
