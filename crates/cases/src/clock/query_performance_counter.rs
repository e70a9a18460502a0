use platform::on_windows;

use super::METRICS;
use crate::{Case, Only};

/// The clock by which Windows programs measure intervals.
pub const CASE: Case = Case {
    area: "clock",
    name: "query-performance-counter",
    operation: "One QueryPerformanceCounter.",
    comparable_to: "The Windows counterpart of clock/gettime{id=monotonic}.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: METRICS,
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::Performance::{
                QueryPerformanceCounter, QueryPerformanceFrequency,
            };

            let mut hz = 0;
            // SAFETY: `hz` is a valid buffer; the call cannot fail since Windows XP.
            unsafe { QueryPerformanceFrequency(&mut hz) };
            let read = || {
                let mut ticks = 0;
                // SAFETY: `ticks` is a valid buffer; the call cannot fail since Windows XP.
                unsafe { QueryPerformanceCounter(&mut ticks) };
                ticks
            };
            super::measure_clock(round, 1e9 / hz.max(1) as f64, read, |ticks| ticks as u64)
        })
    },
};
