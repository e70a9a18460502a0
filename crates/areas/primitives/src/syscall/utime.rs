use crate::{Case, only};

/// Setting the times of a file.
pub const CASE: Case = Case {
    operation: "One utimes that sets the times of a temporary file to the present one, by its absolute path.",
    comparable_to: "Tar, rsync and compilers' caches do it for each file; the measured peers have no such case.",
    run,
    ..Case::new("syscall", "utime").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let path = c_path(&files.create(1, b"x")?)?;
    round.expect_syscalls(1.0);
    // SAFETY: the path ends with NUL; null instead of times means now.
    round.time_call("utimes", || unsafe { libc::utimes(path.as_ptr(), std::ptr::null()) == 0 })
}
