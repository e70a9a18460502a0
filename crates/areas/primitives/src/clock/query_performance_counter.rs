use super::clock;
use crate::{Case, only};

/// The clock by which Windows programs measure intervals.
pub const CASE: Case = Case {
    operation: "One QueryPerformanceCounter.",
    comparable_to: "The Windows counterpart of clock/gettime{id=monotonic}.",
    run,
    ..clock("query-performance-counter").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
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
}
