use crate::{Case, only};

/// Changing the mode of a file, which every file system stores.
pub const CASE: Case = Case {
    operation: "One chmod of a temporary file, by its absolute path, to the permissions that it has.",
    comparable_to: "libMicro's `chmod` is the same with another path.",
    run,
    ..Case::new("syscall", "chmod").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let path = c_path(&files.create(1, b"x")?)?;
    round.expect_syscalls(1.0);
    // SAFETY: the path ends with NUL.
    round.time_call("chmod", || unsafe { libc::chmod(path.as_ptr(), 0o600) == 0 })
}
