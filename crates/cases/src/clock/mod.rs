//! What reading a clock costs, and what it can tell.
//!
//! Each clock is one file: how it is read, and how a reading becomes a number. What a clock can
//! tell ([`properties`]) is found out in the same way for all of them.

mod get_system_time_as_file_time;
mod get_system_time_precise;
mod get_tick_count_64;
mod gettime;
mod gettimeofday;
pub mod properties;
mod query_performance_counter;
mod rdtsc;
mod rdtscp;
mod std_instant;
mod time;

use std::hint::black_box;

use measure::time::Stopwatch;
use measure::{CaseError, Metric, Round};

use self::properties::UNTIL_TICK;
use crate::{Area, Case, Finding, Param, Select, SummaryRow, Takes};

/// The area.
pub const AREA: Area = Area {
    summary: &[SummaryRow {
        label: "clock read (Instant::now)",
        point: Select::case("clock/std-instant"),
        metric: "time",
    }],
    findings: &[Finding::Ratio {
        of: Select::point("clock/gettime", &[("id", "monotonic"), ("via", "syscall")]),
        to: Select::point("clock/gettime", &[("id", "monotonic"), ("via", "vdso")]),
        metric: "time",
        greater: "Reading the clock by a system call costs {} as much as through the vDSO.",
        less: "Reading the clock through the vDSO costs {} as much as by a system call.",
        equal: "Reading the clock through the vDSO costs as much as by a system call ({}).",
    }],
    ..Area::new("clock", CASES)
};

/// Its cases.
const CASES: &[&Case] = &[
    &gettime::CASE,
    &gettimeofday::CASE,
    &time::CASE,
    &rdtsc::CASE,
    &rdtscp::CASE,
    &std_instant::CASE,
    &query_performance_counter::CASE,
    &get_tick_count_64::CASE,
    &get_system_time_as_file_time::CASE,
    &get_system_time_precise::CASE,
];

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
pub fn check_reading(name: &str, reading: u64) -> Result<(), CaseError> {
    if reading == 0 { Err(CaseError::last_os_error(name)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use measure::Params;
    use measure::record::Line;
    use measure::round::Mode;

    use super::*;
    use crate::syscall::rehearsal;

    #[test]
    fn every_clock_can_be_measured_or_says_why_not() {
        rehearsal::every_case_gives_samples_or_a_reason(CASES);
    }

    #[test]
    fn a_clock_read_by_a_system_call_makes_one() {
        rehearsal::system_calls_are_as_expected(CASES);
    }

    #[test]
    fn no_descriptor_stays_open() {
        rehearsal::no_descriptor_stays_open(CASES);
    }

    #[test]
    fn a_fine_clock_shows_all_its_properties() {
        let (lines, result) = rehearsal::run(&std_instant::CASE, &Params::new(), Mode::Sample);
        assert_eq!(result, Ok(()));
        let value = |name: &str| {
            lines.iter().find_map(|line| match line {
                Line::Metric(metric) if metric.name == name => Some(metric.value),
                _ => None,
            })
        };
        let (step, granularity) = (value("step").unwrap(), value("granularity").unwrap());
        assert!(step > 0.0 && step <= granularity, "{step} {granularity}");
        assert_eq!(value("back"), Some(0.0));
    }
}
