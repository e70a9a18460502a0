use super::on_nothing;
use crate::{Case, Only, only};

/// Entering and leaving the kernel, which shares nothing.
pub const CASE: Case = Case {
    operation: "One getppid, whose answer no C library keeps.",
    comparable_to: "will-it-scale's getppid1 makes the same call.",
    only: Only::Unix("Windows has no such call: see scale/set-event"),
    core_bound: true,
    run,
    ..on_nothing("getppid")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::{nothing, scale};

    round.expect_syscalls(1.0);
    // SAFETY: takes nothing and cannot fail; a parent in another container is 0.
    scale(params, round, "getppid", nothing, |()| unsafe { libc::getppid() } >= 0)
}
