use crate::{Case, only};

/// Creating and removing a second name of a file.
pub const CASE: Case = Case {
    operation: "One link that gives a temporary file a second name in its directory, and one unlink of that name.",
    comparable_to: "libMicro's `link` and `unlink` are measured one by one, on many files in turn.",
    run,
    ..Case::new("syscall", "link-unlink").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let first = c_path(&files.create(1, b"x")?)?;
    let second = c_path(&files.file(2))?;
    round.expect_syscalls(2.0);
    // SAFETY: both paths end with NUL.
    round.time_call("link", || unsafe {
        libc::link(first.as_ptr(), second.as_ptr()) == 0 && libc::unlink(second.as_ptr()) == 0
    })
}
