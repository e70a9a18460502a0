use crate::{Case, only};

/// Changing an extended attribute of a file.
pub const CASE: Case = Case {
    operation: "One setxattr that replaces 16 bytes of a temporary file by as many, by its absolute path.",
    comparable_to: "The measured peers have no such case; what it costs depends on the file system.",
    run,
    ..Case::new("syscall", "setxattr").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let path = c_path(&files.create(1, b"x")?)?;
    let (name, value) = (c"user.oscost".as_ptr(), [7u8; 16]);
    round.expect_syscalls(1.0);
    // SAFETY: both strings end with NUL; the pointer and length describe `value`.
    round.time_call("setxattr", || unsafe {
        libc::setxattr(path.as_ptr(), name, value.as_ptr().cast(), 16, 0) == 0
    })
}
