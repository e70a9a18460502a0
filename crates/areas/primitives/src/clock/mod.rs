//! The cost of reading a clock, and its resolution and monotonicity.
//!
//! Each file reads one clock and converts a reading to a number. The [`properties`] of all clocks are
//! measured in the same way.

mod common;
mod designs;
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

pub(crate) use common::*;

use crate::{Area, Case, Counterpart, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    summary: &[SummaryRow::time("clock read (Instant::now)", Select::case("clock/std-instant"))],
    applications: designs::APPLICATIONS,
    counterparts: &[
        Counterpart {
            unix: Select::point("clock/gettimeofday", &[("via", "vdso")]),
            windows: Select::case("clock/query-performance-counter"),
        },
        Counterpart {
            unix: Select::point("clock/gettime", &[("id", "monotonic-coarse"), ("via", "vdso")]),
            windows: Select::case("clock/get-tick-count-64"),
        },
        Counterpart {
            unix: Select::point("clock/gettime", &[("id", "realtime-coarse"), ("via", "vdso")]),
            windows: Select::case("clock/get-system-time-as-file-time"),
        },
        Counterpart {
            unix: Select::point("clock/gettime", &[("id", "realtime"), ("via", "vdso")]),
            windows: Select::case("clock/get-system-time-precise"),
        },
    ],
    ..Area::new("clock", CASES)
};

/// Cases of the area.
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

#[cfg(test)]
mod tests {
    use measure::Params;
    use measure::round::Mode;

    use super::*;

    #[test]
    fn every_case_gives_samples_and_counts_as_declared() {
        rehearsal::check(CASES);
    }

    #[test]
    fn all_properties_of_a_fine_clock_are_reported() {
        let (lines, result) = rehearsal::run(&std_instant::CASE, &Params::new(), Mode::Sample);
        assert_eq!(result, Ok(()));
        let [step, granularity, back] =
            ["step", "granularity", "back"].map(|name| rehearsal::value(&lines, name).unwrap());
        assert!(step > 0.0 && step <= granularity, "{step} {granularity}");
        assert_eq!(back, 0.0);
    }
}
