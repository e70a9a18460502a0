use crate::{Case, Only, only};

/// Path lookup, and reading the metadata of the file.
pub const CASE: Case = Case {
    operation: "One stat of this program's own file by its absolute path; its cost grows with the \
                number of path components.",
    comparable_to: "lmbench's `lat_syscall stat` and will-it-scale's `stat1` make the same call on \
                other paths.",
    only: Only::Unix("Windows must open the file first; see syscall/create-file-close"),
    core_bound: true,
    run,
    ..Case::new("syscall", "stat")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let path = super::path_of_own_program()?;
    // SAFETY: an all-zero stat is valid.
    let mut facts = unsafe { std::mem::zeroed() };
    round.expect_syscalls(1.0);
    // SAFETY: the path ends with NUL, and `facts` is a valid buffer for the result.
    round.time_call("stat", || unsafe { libc::stat(path.as_ptr(), &mut facts) == 0 })
}
