use super::clock;
use crate::{Case, only};

/// The wall clock with the best resolution that Windows offers.
pub const CASE: Case = Case {
    operation: "One GetSystemTimePreciseAsFileTime.",
    comparable_to: "The Windows counterpart of clock/gettime{id=realtime}; its unit is 100 ns.",
    run,
    ..clock("get-system-time-precise").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;

    // SAFETY: `now` is a valid buffer; the call cannot fail.
    super::measure_file_time(round, |now| unsafe { GetSystemTimePreciseAsFileTime(now) })
}
