use crate::{Case, Only, only};

/// Reading the resource usage of the calling process.
pub const CASE: Case = Case {
    operation: "One getrusage of the calling process (RUSAGE_SELF), which has one thread.",
    comparable_to: "libMicro's `getrusage` makes the same call.",
    only: Only::Unix("Windows has GetProcessTimes; see syscall/get-process-times"),
    core_bound: true,
    run,
    ..Case::new("syscall", "getrusage")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    round.expect_syscalls(1.0);
    // SAFETY: `usage` is a valid buffer for the result.
    round.time_call("getrusage", || unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0 })
}
