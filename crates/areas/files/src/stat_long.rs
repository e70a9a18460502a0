use std::path::Path;

use measure::{CaseError, Round};
use platform::cleanup::{Directory, LONGEST_NAME};
use platform::file::system_path::SystemPath;

use super::DIR;
use super::directory::Home;
use catalog::{Case, Param, Takes, count_of};

/// stat of a file with a long name.
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
        time_stat(round, &home.path().join(Directory::file_of_length(length)))
    },
    ..Case::new("file", "stat-long")
};

/// Creates an empty file and times stat of it.
///
/// # Errors
/// The error of the system call that failed.
pub fn time_stat(round: &mut Round, path: &Path) -> Result<(), CaseError> {
    std::fs::File::create_new(path).map_err(|e| CaseError::from_io("creating a file", &e))?;
    let path = SystemPath::new(path)?;
    round.expect_unix_calls(1.0);
    round.time_call("stat", || matches!(path.exists(), Ok(true)))
}
