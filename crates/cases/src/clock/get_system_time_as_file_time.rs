use super::clock;
use crate::{Case, on_windows};

/// The wall clock with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    operation: "One GetSystemTimeAsFileTime.",
    comparable_to: "The Windows counterpart of clock/gettime{id=realtime-coarse}; its unit is 100 \
                ns.",
    run: on_windows!(|_, round| {
        use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;

        // SAFETY: `now` is a valid buffer; the call cannot fail.
        super::measure_file_time(round, |now| unsafe { GetSystemTimeAsFileTime(now) })
    }),
    ..clock("get-system-time-as-file-time").on_windows()
};
