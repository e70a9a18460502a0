use crate::{Case, Only, only};

/// The shortest ordinary system call.
pub const CASE: Case = Case {
    operation: "One getppid() system call, which the C library does not cache.",
    comparable_to: "`perf bench syscall basic`, lmbench's `lat_syscall null` and will-it-scale's \
                `getppid1` make the same call.",
    only: Only::Unix("Windows has no getppid; see syscall/nt-get-current-processor"),
    core_bound: true,
    run,
    ..Case::new("syscall", "getppid")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    round.expect_syscalls(1.0);
    round.time(|| {
        // SAFETY: takes no argument and cannot fail.
        std::hint::black_box(unsafe { libc::getppid() });
    })
}
