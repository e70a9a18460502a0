use crate::{Case, only};

/// Reading a file of /proc, which the kernel generates when it is read.
pub const CASE: Case = Case {
    operation: "One open of /proc/self/stat, one read of all of it, and one close.",
    comparable_to: "What `ps` and `top` do for each process; the measured peers have no such case.",
    run,
    ..Case::new("syscall", "proc-read").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    round.expect_syscalls(3.0);
    super::read_whole::time(round, c"/proc/self/stat")
}
