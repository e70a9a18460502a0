//! Metrics that the system reports of a command besides its elapsed time.

use measure::{Combine, Role, metrics};
use results::PerOp;

metrics! {
    /// Metrics of a command.
    pub const COMMAND: [
        CPU = lower("cpu", "ns"), "CPU time of the command and the children it waited for";
        USER = lower("user", "ns"),
            "CPU time in user mode, if a run takes so much CPU time that the kernel can tell it from that in the kernel";
        SYSTEM = lower("system", "ns"), "CPU time in the kernel, likewise";
        MAX_RESIDENT = lower("max-resident", "bytes"),
            "largest resident memory of any of its processes, or of the process that started it if that is more";
        VOLUNTARY_SWITCHES = lower(PerOp::VOLUNTARY_SWITCHES, "switches"),
            "times one of its threads gave up its CPU, to wait";
        INVOLUNTARY_SWITCHES = lower(PerOp::INVOLUNTARY_SWITCHES, "switches"),
            "times one of its threads was preempted";
        PAGE_FAULTS = lower(PerOp::PAGE_FAULTS, "faults"), "page faults, minor and major";
        FAILURES = lower("failures", "runs").combined(Combine::Sum).with(Role::Failures),
            "runs that ended with an exit code other than 0";
    ]
}
