//! What the cases of clocks share: parameters, metrics and how a clock is measured.

use super::properties::{self, UNTIL_TICK};
use crate::{Param, Takes};
use measure::time::Stopwatch;
use measure::{CaseError, Metric, Round};
use std::hint::black_box;

/// How a clock of the kernel is asked.
pub const VIA: Param = Param {
    name: "via",
    meaning: "the C library's function, which asks the vDSO, or the system call itself",
    default: &["vdso", "syscall"],
    full: &["vdso", "syscall"],
    takes: Takes::Words(&[]),
};

/// The metrics of every clock.
pub const METRICS: &[Metric] =
    &[properties::STEP, properties::GRANULARITY, properties::BACK, properties::BACK_ACROSS_CPUS];

/// Measures what `read` costs and what the clock can tell. `units` gives what a reading shows, in
/// units of `ns_per_unit`.
pub fn measure_clock<R>(
    round: &mut Round,
    ns_per_unit: f64,
    read: impl Fn() -> R + Sync,
    units: impl Fn(R) -> u64 + Sync,
) -> Result<(), CaseError> {
    round.time(|| {
        black_box(read());
    })?;
    report_properties(round, ns_per_unit, || units(read()));
    Ok(())
}

/// Reports all that a clock can tell that every thread reads alike.
pub fn report_properties(round: &mut Round, ns_per_unit: f64, read: impl Fn() -> u64 + Sync) {
    properties::on_one_cpu(round, ns_per_unit, UNTIL_TICK, &read);
    properties::across_cpus(round, &read);
}

/// As [`measure_clock`], for the time stamp counter, whose rate is found out for the purpose: to
/// some 0.01 %, within 1 ms.
#[allow(dead_code, reason = "not on every system")]
pub fn measure_tsc(round: &mut Round, read: impl Fn() -> u64 + Sync) -> Result<(), CaseError> {
    let ns_per_tick = || {
        let (start, watch) = (read(), Stopwatch::start());
        while watch.elapsed().get() < 0.3e6 {
            std::hint::spin_loop();
        }
        watch.elapsed().get() / read().saturating_sub(start).max(1) as f64
    };
    // The middle one: an interrupt between the two clocks spoils one of them.
    let mut rates = [ns_per_tick(), ns_per_tick(), ns_per_tick()];
    rates.sort_by(f64::total_cmp);
    measure_clock(round, rates[1], &read, |ticks| ticks)
}

/// Sees to it that a clock could be read: a reading of 0 is what stands there if it could not.
///
/// # Errors
/// What the system said last.
#[allow(dead_code, reason = "not on every system")]
pub fn check_reading(name: &str, reading: u64) -> Result<(), CaseError> {
    if reading == 0 { Err(CaseError::last_os_error(name)) } else { Ok(()) }
}
