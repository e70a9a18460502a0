use super::{BY_TICKS, PARAMS, metrics};
use crate::{Case, Param, only};

/// Sleeping with Sleep on Windows.
pub const CASE: Case = Case {
    operation: "One Sleep, in whole ms. It ends at a tick of the system's timer, which may be early, as documented.",
    comparable_to: "The counterpart of timer/nanosleep.",
    trials: Some(BY_TICKS),
    params: IN_MS,
    metrics: metrics::BY_TICKS,
    run,
    ..Case::new("timer", "sleep").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Threading::Sleep;

    let ms = super::in_ms(crate::length_of(params, "length")?, "Sleep")?;
    let sleeper = super::Sleeper { name: "Sleep", syscalls: 1.0, may_end_early: true };
    super::measure(params, round, sleeper, |_, _| {
        // SAFETY: takes a number only.
        unsafe { Sleep(ms) };
        Ok(())
    })
}

/// Parameters of a sleep of whole milliseconds.
pub const IN_MS: &[Param] =
    &[Param { default: &["1ms", "10ms"], full: &["1ms", "10ms"], ..PARAMS[0] }, PARAMS[1]];
