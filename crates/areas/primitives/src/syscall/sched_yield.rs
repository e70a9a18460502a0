use crate::{Case, Only, only};

/// Yielding when no other thread can run.
pub const CASE: Case = Case {
    operation: "One sched_yield on a CPU with no other runnable thread.",
    comparable_to: "libMicro's `sched_yield` and will-it-scale's `sched_yield` make the same call.",
    only: Only::Unix("Windows has SwitchToThread; see syscall/switch-to-thread"),
    run,
    ..Case::new("syscall", "sched-yield")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::{alone_or_scaled, nothing};

    round.expect_syscalls(1.0);
    // SAFETY: the call takes no arguments.
    let operation = |(): &()| unsafe { libc::sched_yield() == 0 };
    alone_or_scaled(params, round, "sched_yield", nothing, operation)
}
