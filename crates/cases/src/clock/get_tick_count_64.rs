use platform::on_windows;

use super::METRICS;
use crate::{Case, Only};

/// The time since start, as coarse as the timer interrupt.
pub const CASE: Case = Case {
    area: "clock",
    name: "get-tick-count-64",
    operation: "One GetTickCount64.",
    comparable_to: "The counterpart of clock/gettime{id=monotonic-coarse}; it counts ms and steps by 10 \
            to 16 of them.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: METRICS,
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::SystemInformation::GetTickCount64;

            // SAFETY: takes nothing and cannot fail.
            super::measure_clock(round, 1e6, || unsafe { GetTickCount64() }, |ms| ms)
        })
    },
};
