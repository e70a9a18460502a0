use crate::{Case, only};

/// Reading an extended attribute of a file.
pub const CASE: Case = Case {
    operation: "One getxattr of 16 bytes of a temporary file, by its absolute path.",
    comparable_to: "Access control lists and SELinux labels are stored so; the measured peers have no such case.",
    run,
    ..Case::new("syscall", "getxattr").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let path = c_path(&files.create(1, b"x")?)?;
    let (name, value) = (c"user.oscost".as_ptr(), [7u8; 16]);
    // SAFETY: both strings end with NUL; the pointer and length describe `value`.
    let set = unsafe { libc::setxattr(path.as_ptr(), name, value.as_ptr().cast(), 16, 0) };
    if set != 0 {
        return Err(measure::CaseError::last_os_error("setxattr"));
    }
    let mut found = [0u8; 16];
    round.expect_syscalls(1.0);
    round.time_call("getxattr", || {
        // SAFETY: both strings end with NUL; the pointer and length describe `found`.
        let length = unsafe { libc::getxattr(path.as_ptr(), name, found.as_mut_ptr().cast(), 16) };
        length == 16 && found[15] == 7
    })
}
