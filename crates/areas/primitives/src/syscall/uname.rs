use crate::{Case, Only, only};

/// A call that copies a few hundred bytes out of the kernel.
pub const CASE: Case = Case {
    operation: "One uname, which copies 390 bytes of names out of the kernel.",
    comparable_to: "UnixBench's `syscall` makes only calls that copy no data; stress-ng's `--get` \
                calls uname among many other calls.",
    only: Only::Linux("elsewhere uname is a library function over several sysctl calls"),
    core_bound: true,
    run,
    ..Case::new("syscall", "uname")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: an all-zero utsname is valid.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    round.expect_syscalls(1.0);
    // SAFETY: `names` is a valid buffer for the result.
    round.time_call("uname", || unsafe { libc::uname(&mut names) == 0 })
}
