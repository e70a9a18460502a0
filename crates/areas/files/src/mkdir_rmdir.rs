use platform::cleanup::Directory;
use platform::file::system_path::SystemPath;

use super::DIR;
use super::directory::Home;
use catalog::Case;

/// Creating and removing a directory.
pub const CASE: Case = Case {
    operation: "One mkdir of a new directory and one rmdir of it, by an absolute path (CreateDirectoryW and \
                RemoveDirectoryW on Windows).",
    comparable_to: "libMicro's `mkdir` and `rmdir` time the two calls apart; stress-ng's `dir` makes and removes many \
            directories at a time.",
    params: &[DIR],
    run: |params, round| {
        let home = Home::of_many(params, 1, 0, round)?;
        let path = SystemPath::new(&home.path().join(Directory::branch(1)))?;
        round.expect_unix_calls(2.0);
        round.time_call("mkdir and rmdir", || {
            path.make_directory().and_then(|()| path.remove_directory()).is_ok()
        })
    },
    ..Case::new("file", "mkdir-rmdir")
};
