use crate::{Case, Only, Param, Takes, only};

/// Additional cost that a seccomp filter, as containers and browsers have, adds to each system call.
pub const CASE: Case = Case {
    operation: "One getppid in a process whose system calls pass a seccomp filter of a number of rules, none of which applies \
                to it.",
    comparable_to: "Without rules there is no filter, and it is syscall/getppid. The kernel's own seccomp_benchmark compares \
                    the same with rules for the number only, for which newer kernels remember the answer.",
    only: Only::Linux("seccomp exists only on Linux"),
    core_bound: true,
    params: &[
        Param::new("rules", &["0", "10", "300"])
            .meaning("how many other system calls the filter compares the number with")
            .full(&["0", "1", "10", "30", "100", "300", "1000"])
            .takes(Takes::Size(platform::seccomp::RULES_AT_MOST as u64)),
        Param::new("reads", &["argument"])
            .meaning(
                "whether the filter reads only the call's number, so that the kernel (from \
                 Linux 5.11) may remember that the call is allowed, or also an argument, so \
                 that it is run for each call",
            )
            .full(&["number", "argument"]),
    ],
    run,
    ..Case::new("syscall", "seccomp")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let rules = crate::count_of(params, "rules")?;
    let reads_argument = crate::value_of(params, "reads")? == "argument";
    if rules > 0 {
        platform::seccomp::install(rules, reads_argument)?;
    }
    // SAFETY: takes nothing and cannot fail.
    let parent = unsafe { libc::getppid() };
    round.expect_syscalls(1.0);
    // SAFETY: takes nothing and cannot fail.
    super::time(round, "getppid", || unsafe { libc::getppid() } == parent)
}
