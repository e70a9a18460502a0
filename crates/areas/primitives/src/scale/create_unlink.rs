use super::on_an_object;
use crate::{Case, only};

/// Creating and removing names in a directory, which has a lock.
pub const CASE: Case = Case {
    operation: "One open of a new file, one close and one unlink, in a directory of the worker's own or in one that all \
                workers use.",
    comparable_to: "will-it-scale's unlink1 has one directory for all tasks, its unlink2 one for each; both keep the file \
                    open meanwhile.",
    run,
    ..on_an_object("create-unlink").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale_by_number;
    use std::ffi::CString;

    use measure::CaseError;
    use platform::cleanup::Directory;

    use crate::syscall::named_files::NamedFiles;
    use platform::file::path::c_path;

    let files = NamedFiles::new()?;
    // The path of each worker is built before the clock starts.
    let make = |number: usize| -> Result<Vec<CString>, CaseError> {
        let folder = files.path().join(Directory::branch(number));
        let made = std::fs::create_dir(&folder);
        made.map_err(|e| CaseError::from_io("a temporary directory", &e))?;
        let workers = crate::count_of(params, "workers")?;
        let path = |worker| c_path(&folder.join(Directory::file(false, worker)));
        (0..=workers).map(path).collect()
    };
    round.expect_syscalls(3.0);
    scale_by_number(params, round, "open", make, |paths, worker| {
        let path = paths[worker].as_ptr();
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: the path ends with NUL; a descriptor that was opened is closed.
        unsafe {
            let fd = libc::open(path, flags, 0o600 as libc::c_uint);
            fd >= 0 && libc::close(fd) == 0 && libc::unlink(path) == 0
        }
    })
}
