use super::clock;
use crate::{Case, only};

/// The wall clock with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    operation: "One GetSystemTimeAsFileTime.",
    comparable_to: "The Windows counterpart of clock/gettime{id=realtime-coarse}; its unit is 100 \
                ns.",
    run,
    ..clock("get-system-time-as-file-time").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::SystemInformation::GetSystemTimeAsFileTime;

    // SAFETY: `now` is a valid buffer; the call cannot fail.
    super::measure_file_time(round, |now| unsafe { GetSystemTimeAsFileTime(now) })
}
