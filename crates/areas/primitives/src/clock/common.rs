//! Shared by the cases of clocks: parameters, metrics, and the measurement of a clock.

use super::properties::{self, UNTIL_TICK};
use crate::{Case, Param};
use measure::time::Stopwatch;
use measure::{CaseError, Round};
use std::hint::black_box;

/// The parameter `via`: how a clock of the kernel is read.
pub const VIA: Param = Param::new("via", &["vdso", "syscall"]).meaning(
    "whether the C library's function reads the clock, through the vDSO, or a \
     system call",
);

/// A case with the definitions that all clocks have in common.
pub const fn clock(name: &'static str) -> Case {
    Case { core_bound: true, metrics: properties::METRICS, ..Case::new("clock", name) }
}

/// Measures the cost of `read` and the properties of the clock. `units` converts a reading to a number of units of `ns_per_unit`.
///
/// # Errors
/// Errors of [`Round::time`].
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

/// Times `read`, which writes the time to a buffer in units of 100 ns, and reports the properties of its clock.
///
/// # Errors
/// Errors of [`Round::time`].
#[cfg(windows)]
pub fn measure_file_time(
    round: &mut Round,
    read: impl Fn(&mut windows_sys::Win32::Foundation::FILETIME) + Sync,
) -> Result<(), CaseError> {
    let zero = windows_sys::Win32::Foundation::FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let mut now = zero;
    round.time(|| {
        read(&mut now);
        black_box(&mut now);
    })?;
    report_properties(round, 100.0, || {
        let mut now = zero;
        read(&mut now);
        u64::from(now.dwHighDateTime) << 32 | u64::from(now.dwLowDateTime)
    });
    Ok(())
}

/// Reports all properties of a clock that gives all threads the same time.
pub fn report_properties(round: &mut Round, ns_per_unit: f64, read: impl Fn() -> u64 + Sync) {
    properties::on_one_cpu(round, ns_per_unit, UNTIL_TICK, &read);
    properties::across_cpus(round, &read);
}

/// Measures a reading of the time stamp counter, whose rate is calibrated first: to about 0.01 %, within 1 ms.
///
/// # Errors
/// Errors of [`Round::time`].
#[allow(dead_code, reason = "not on every system")]
pub fn measure_tsc(round: &mut Round, read: impl Fn() -> u64 + Sync) -> Result<(), CaseError> {
    let ns_per_tick = || {
        let (start, watch) = (read(), Stopwatch::start());
        while watch.elapsed().get() < 0.3e6 {
            std::hint::spin_loop();
        }
        watch.elapsed().get() / read().saturating_sub(start).max(1) as f64
    };
    // The median is used, since an interrupt between the readings of the two clocks distorts one rate.
    let mut rates = [ns_per_tick(), ns_per_tick(), ns_per_tick()];
    rates.sort_by(f64::total_cmp);
    measure_clock(round, rates[1], &read, |ticks| ticks)
}

/// Checks that a clock could be read: if the call failed, the buffer still holds 0.
///
/// # Errors
/// The last error of the system.
#[allow(dead_code, reason = "not on every system")]
pub fn check_reading(name: &str, reading: u64) -> Result<(), CaseError> {
    if reading == 0 { Err(CaseError::last_os_error(name)) } else { Ok(()) }
}
