use crate::{Case, Only, only};

/// Path lookup, and a check of permissions.
pub const CASE: Case = Case {
    operation: "One access that asks whether this program's own file may be read, by its absolute path.",
    comparable_to: "libMicro's `access` is the same with another path; the difference to syscall/stat is that nothing is \
                    copied.",
    only: Only::Unix("Windows has GetFileAttributes: see syscall/get-file-attributes"),
    core_bound: true,
    run,
    ..Case::new("syscall", "access")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let path = super::path_of_own_program()?;
    round.expect_syscalls(1.0);
    // SAFETY: the path ends with NUL.
    round.time_call("access", || unsafe { libc::access(path.as_ptr(), libc::R_OK) == 0 })
}
