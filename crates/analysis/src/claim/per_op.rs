//! Counts per operation as metrics, from the untimed pass: events in the kernel, and events in the kernel of a system's host.

use results::PerOp;

/// Names of the counts, which counts of whole commands have too.
pub(super) const NAMES: [&str; 7] = [
    PerOp::SYSCALLS,
    PerOp::VOLUNTARY_SWITCHES,
    PerOp::INVOLUNTARY_SWITCHES,
    PerOp::PAGE_FAULTS,
    "host-syscalls",
    "host-switches",
    "host-ptrace-stops",
];
/// Unit of the counts.
pub(super) const UNIT: &str = "/op";

/// Whether this is the name of a count.
pub(super) fn is_count(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The count with this name.
pub(super) fn count(counts: &PerOp, name: &str) -> Option<f64> {
    let of_name = [
        counts.syscalls,
        counts.voluntary_switches,
        counts.involuntary_switches,
        counts.page_faults,
        counts.host_syscalls,
        counts.host_switches,
        counts.host_ptrace_stops,
    ];
    let at = NAMES.iter().position(|own| *own == name)?;
    of_name[at]
}
