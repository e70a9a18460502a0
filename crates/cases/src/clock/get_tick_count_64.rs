use platform::on_windows;

use super::METRICS;
use crate::{Case, Only};

/// The time since the system started, with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    area: "clock",
    name: "get-tick-count-64",
    operation: "One GetTickCount64.",
    comparable_to: "The Windows counterpart of clock/gettime{id=monotonic-coarse}; its unit is 1 \
                ms, and it advances by 10 to 16 ms.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: METRICS,
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::SystemInformation::GetTickCount64;

            // SAFETY: takes no argument and cannot fail.
            super::measure_clock(round, 1e6, || unsafe { GetTickCount64() }, |ms| ms)
        })
    },
};
