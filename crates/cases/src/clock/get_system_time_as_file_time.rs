use platform::on_windows;

use super::METRICS;
use crate::{Case, Only};

/// The wall clock with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    area: "clock",
    name: "get-system-time-as-file-time",
    operation: "One GetSystemTimeAsFileTime.",
    comparable_to: "The Windows counterpart of clock/gettime{id=realtime-coarse}; its unit is 100 \
                ns.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: METRICS,
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::Foundation::FILETIME;
            use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;

            let read = |now: &mut FILETIME| {
                // SAFETY: `now` is a valid buffer; the call cannot fail.
                unsafe { GetSystemTimeAsFileTime(now) };
            };
            let mut now = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
            round.time(|| {
                read(&mut now);
                std::hint::black_box(&mut now);
            })?;
            super::report_properties(round, 100.0, || {
                let mut now = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
                read(&mut now);
                u64::from(now.dwHighDateTime) << 32 | u64::from(now.dwLowDateTime)
            });
            Ok(())
        })
    },
};
