//! Counts per operation as metrics: what the kernel did, and what a system made its host's kernel do, from the untimed pass.

use results::PerOp;

/// Their names, as those of the same counts of whole commands.
pub(super) const NAMES: [&str; 7] = [
    PerOp::SYSCALLS,
    PerOp::VOLUNTARY_SWITCHES,
    PerOp::INVOLUNTARY_SWITCHES,
    PerOp::PAGE_FAULTS,
    "host-syscalls",
    "host-switches",
    "host-ptrace-stops",
];
/// Their unit.
pub(super) const UNIT: &str = "/op";

/// Whether this is the name of a count.
pub(super) fn is_count(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The count of that name.
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
