//! Counts per operation as metrics: what the kernel did, from the untimed pass.

use results::PerOp;

/// Their names.
pub(super) const NAMES: [&str; 4] =
    ["syscalls", "voluntary-switches", "involuntary-switches", "page-faults"];
/// Their unit.
pub(super) const UNIT: &str = "/op";

/// Whether this is the name of a count.
pub(super) fn is_count(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The count of that name.
pub(super) fn count(counts: &PerOp, name: &str) -> Option<f64> {
    match name {
        "syscalls" => counts.syscalls,
        "voluntary-switches" => counts.voluntary_switches,
        "involuntary-switches" => counts.involuntary_switches,
        "page-faults" => counts.page_faults,
        _ => None,
    }
}
