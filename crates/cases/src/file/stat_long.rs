use std::path::PathBuf;

use measure::CaseError;
use platform::cleanup::{Directory, LONGEST_NAME};
use platform::system_path::SystemPath;

use super::DIR;
use super::directory::Home;
use crate::syscall::time;
use crate::{Case, Param, Takes, count_of};

/// A file with a long name.
pub const CASE: Case = Case {
    operation: "One stat of an empty file by an absolute path whose last name has this length \
                (GetFileAttributesW on Windows).",
    comparable_to: "As syscall/stat; the system copies and hashes the whole name. 255 bytes is the longest that most \
            file systems take.",
    core_bound: true,
    params: &[
        Param::new("length", &["255"])
            .meaning("the length of the file's name, in bytes")
            .full(&["8", "32", "128", "255"])
            .takes(Takes::Count(LONGEST_NAME as u64)),
        DIR,
    ],
    run: |params, round| {
        let home = Home::with_room(params, 1, 0)?;
        let length = count_of(params, "length")?;
        let path = create_empty(home.path().join(Directory::file_of_length(length)))?;
        let path = SystemPath::new(&path)?;
        if cfg!(unix) {
            round.expect_syscalls(1.0);
        }
        time(round, "stat", || matches!(path.exists(), Ok(true)))
    },
    ..Case::new("file", "stat-long")
};

/// Creates an empty file.
///
/// # Errors
/// Those of the call.
pub fn create_empty(path: PathBuf) -> Result<PathBuf, CaseError> {
    std::fs::File::create_new(&path).map_err(|e| CaseError::from_io("creating a file", &e))?;
    Ok(path)
}
