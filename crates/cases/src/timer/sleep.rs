use platform::on_windows;

use super::{BY_TICKS, PARAMS, metrics};
use crate::{Case, Only, Param};

/// The usual way to sleep on Windows.
pub const CASE: Case = Case {
    area: "timer",
    name: "sleep",
    operation: "One Sleep, in whole ms. It ends at a tick of the system's timer, which may be early, as documented.",
    comparable_to: "The counterpart of timer/nanosleep.",
    only: Only::Windows("exists only on Windows"),
    core_bound: false,
    trials: Some(BY_TICKS),
    params: IN_MS,
    metrics: metrics::BY_TICKS,
    run: |params, round| {
        on_windows!(params, round, {
            use windows_sys::Win32::System::Threading::Sleep;

            let ms = super::in_ms(crate::length_of(params, "length")?, "Sleep")?;
            super::measure(
                params,
                round,
                super::Sleeper { name: "Sleep", syscalls: 1.0, may_end_early: true },
                |_, _| {
                    // SAFETY: takes a number only.
                    unsafe { Sleep(ms) };
                    Ok(())
                },
            )
        })
    },
};

/// Without the lengths below 1 ms.
pub const IN_MS: &[Param] =
    &[Param { default: &["1ms", "10ms"], full: &["1ms", "10ms"], ..PARAMS[0] }, PARAMS[1]];
