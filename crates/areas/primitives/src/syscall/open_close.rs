use crate::{Case, Only, only};

/// Path lookup, allocation of a descriptor, and its release.
pub const CASE: Case = Case {
    operation: "One open of this program's own file for reading by its absolute path, and one \
                close of the descriptor.",
    comparable_to: "lmbench's `lat_syscall open` also counts the pair; will-it-scale's `open1` \
                opens a temporary file for writing.",
    only: Only::Unix("Windows has CreateFile; see syscall/create-file-close"),
    core_bound: true,
    run,
    ..Case::new("syscall", "open-close")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::file::path::c_path;

    use super::named_files::NamedFiles;
    use crate::scaled::{alone_or_scaled, is_scaled};

    // Each of several workers opens its own file.
    let files = if is_scaled(params) { Some(NamedFiles::new()?) } else { None };
    let path = |number| match &files {
        Some(files) => files.create(number, b"x").and_then(|path| c_path(&path)),
        None => super::path_of_own_program(),
    };
    round.expect_syscalls(2.0);
    // SAFETY: the path ends with NUL; a descriptor that was opened is closed.
    alone_or_scaled(params, round, "open", path, |path| unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        fd >= 0 && libc::close(fd) == 0
    })
}
