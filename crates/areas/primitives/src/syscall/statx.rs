use crate::{Case, only};

/// Path lookup, and reading the metadata of the file by the newer call.
pub const CASE: Case = Case {
    operation: "One statx of this program's own file by its absolute path, of the facts that stat gives.",
    comparable_to: "syscall/stat makes the older call for the same path; the measured peers have no such case.",
    core_bound: true,
    run,
    ..Case::new("syscall", "statx").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let path = super::path_of_own_program()?;
    let (here, wanted) = (libc::AT_FDCWD, libc::STATX_BASIC_STATS);
    // SAFETY: an all-zero statx is valid.
    let mut facts: libc::statx = unsafe { std::mem::zeroed() };
    round.expect_syscalls(1.0);
    round.time_call("statx", || {
        // SAFETY: the path ends with NUL; the structure is valid for writes.
        let done = unsafe {
            libc::syscall(libc::SYS_statx, here, path.as_ptr(), 0, wanted, &raw mut facts)
        };
        done == 0 && facts.stx_size > 0
    })
}
