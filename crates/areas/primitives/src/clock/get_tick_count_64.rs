use super::clock;
use crate::{Case, only};

/// The time since the system started, with the resolution of the timer interrupt.
pub const CASE: Case = Case {
    operation: "One GetTickCount64.",
    comparable_to: "The Windows counterpart of clock/gettime{id=monotonic-coarse}; its unit is 1 \
                ms, and it advances by 10 to 16 ms.",
    run,
    ..clock("get-tick-count-64").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::SystemInformation::GetTickCount64;

    // SAFETY: takes no argument and cannot fail.
    super::measure_clock(round, 1e6, || unsafe { GetTickCount64() }, |ms| ms)
}
