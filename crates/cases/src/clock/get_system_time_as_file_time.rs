use super::clock;
use crate::{Case, on_windows};

/// The wall clock with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    operation: "One GetSystemTimeAsFileTime.",
    comparable_to: "The Windows counterpart of clock/gettime{id=realtime-coarse}; its unit is 100 \
                ns.",
    run: on_windows!(|_, round| {
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
    }),
    ..clock("get-system-time-as-file-time").on_windows()
};
