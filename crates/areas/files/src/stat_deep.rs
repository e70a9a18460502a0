use platform::cleanup::Directory;

use super::DIR;
use super::directory::{Home, make};
use super::stat_long::time_stat;
use catalog::{Case, Param, Takes, count_of};

/// Maximum depth: cleanup after a kill removes no more nested directories.
const LEVELS_AT_MOST: u64 = 32;

/// stat of a file below many directories.
pub const CASE: Case = Case {
    operation: "One stat of an empty file by an absolute path with this number of directories of four characters below \
                the one of the trial (GetFileAttributesW on Windows).",
    comparable_to: "As syscall/stat, whose path is that of this program; each directory adds one lookup to the \
            path walk.",
    core_bound: true,
    params: &[
        Param::new("levels", &["1", "8", "32"])
            .meaning("the number of directories between that of the trial and the file")
            .full(&["1", "2", "4", "8", "16", "32"])
            .takes(Takes::Count(LEVELS_AT_MOST)),
        DIR,
    ],
    run: |params, round| {
        let home = Home::with_room(params, 1, 0)?;
        let mut path = home.path().to_owned();
        for level in 1..=count_of(params, "levels")? {
            path = make(path.join(Directory::branch(level)))?;
        }
        time_stat(round, &path.join(Directory::file(false, 1)))
    },
    ..Case::new("file", "stat-deep")
};
