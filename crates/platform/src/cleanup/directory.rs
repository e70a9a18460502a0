//! The one directory a worker may create, for many files: only files and directories of known names are ever removed.

use std::io;
use std::path::{Path, PathBuf};

use super::emptying;
use super::record::{Kind, Recorded, random_name};
use crate::file::private;

const PREFIX: &str = "oscost-files-";

pub use super::emptying::LONGEST_NAME;

/// A worker's directory. Dropping it removes it with all its files; after a kill, a sweep does.
///
/// Some file systems spread directories over their parts by the number of directories in each, and put a new one where one
/// was just removed, beside the remains of its files; see [`crate::file::filesystem::spread_directories_of`].
///
/// Only files named by [`Directory::file`] and directories named by [`Directory::branch`] are removed; other entries stay,
/// and no link is followed.
#[derive(Debug)]
pub struct Directory {
    /// Its entry in this process's record, until it is dropped.
    recorded: Option<Recorded>,
    path: PathBuf,
    /// Whether the home directory is kept, empty, when this is dropped.
    home_stays: bool,
}

impl Directory {
    /// Creates the directory among the temporary files.
    ///
    /// # Errors
    /// See [`Directory::new_in`].
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    /// Creates the directory in `parent`, with a random name.
    ///
    /// # Errors
    /// Errors of mkdir(2), and if it cannot be recorded.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        let path = std::path::absolute(parent)?.join(random_name(PREFIX));
        let recorded = Recorded::at(Kind::Directory, &path)?;
        private::create_directory(&path)?;
        crate::file::filesystem::spread_directories_of(&path);
        Ok(Self { recorded: Some(recorded), path, home_stays: false })
    }

    /// The name of a home, a directory for all files, which no earlier process had: a file system may place a directory by
    /// its name.
    pub fn home() -> String {
        format!("d{}", std::process::id())
    }

    /// Keeps the home directory, empty, until a sweep: while it exists, the file system puts other directories elsewhere.
    pub fn keep_home(&mut self) {
        self.home_stays = true;
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of a file: `f` or `g` and a number.
    pub fn file(renamed: bool, number: usize) -> String {
        format!("{}{number:07}", if renamed { 'g' } else { 'f' })
    }

    /// The name of a file, `length` bytes long, at most [`LONGEST_NAME`].
    pub fn file_of_length(length: usize) -> String {
        format!("f{:0width$}", 1, width = length.clamp(2, LONGEST_NAME) - 1)
    }

    /// The name of a branch, a directory within the home: `d` and a number.
    pub fn branch(number: usize) -> String {
        format!("d{number:03}")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.home_stays {
            // The next sweep tries again, and removes the directory.
            let _ = emptying::clear(&self.path.join(Self::home()));
            std::mem::forget(self.recorded.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory of a test, removed at its end.
    struct Parent(PathBuf);

    impl Parent {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("oscost-test-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Parent {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn dropping_removes_the_directory_with_its_files() {
        let parent = Parent::new("dropped");
        let directory = Directory::new_in(&parent.0).unwrap();
        let branch = directory.path().join(Directory::home()).join(Directory::branch(255));
        fs::create_dir_all(&branch).unwrap();
        for number in 0..3_000 {
            fs::write(directory.path().join(Directory::file(false, number)), "x").unwrap();
            fs::write(branch.join(Directory::file(true, number)), "x").unwrap();
        }
        drop(directory);
        assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0);
    }

    /// Trials of thousands of files took 3 to 9 times as long where ext4 put their directory in the place of the last one.
    #[test]
    fn a_home_that_is_kept_stays_empty_until_a_sweep() {
        let parent = Parent::new("kept");
        let mut directory = Directory::new_in(&parent.0).unwrap();
        directory.keep_home();
        let home = directory.path().join(Directory::home());
        fs::create_dir_all(home.join(Directory::branch(3))).unwrap();
        fs::write(home.join(Directory::branch(3)).join(Directory::file(true, 1)), "x").unwrap();
        fs::write(home.join(Directory::file(false, 1)), "x").unwrap();
        let recorded = directory.recorded.take();
        drop(directory);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
        drop(recorded);
        assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0);
    }

    #[test]
    fn deep_branches_and_long_names_are_removed() {
        let parent = Parent::new("deep");
        let directory = Directory::new_in(&parent.0).unwrap();
        let branches = (0..32).map(Directory::branch);
        let deep = branches.fold(directory.path().to_owned(), |path, branch| path.join(branch));
        fs::create_dir_all(&deep).unwrap();
        for length in [2, 8, LONGEST_NAME] {
            let name = Directory::file_of_length(length);
            assert_eq!(name.len(), length);
            fs::write(directory.path().join(&name), "x").unwrap();
        }
        drop(directory);
        assert_eq!(fs::read_dir(&parent.0).unwrap().count(), 0);
    }

    #[test]
    fn foreign_files_are_kept() {
        let parent = Parent::new("strangers");
        let directory = Directory::new_in(&parent.0).unwrap();
        let path = directory.path().to_owned();
        for name in ["f0000001", "f1.txt", "notes", "f"] {
            fs::write(path.join(name), "x").unwrap();
        }
        fs::create_dir_all(path.join("d001/kept")).unwrap();
        drop(directory);
        let mut left: Vec<_> =
            fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["d001", "f", "f1.txt", "notes"]);
    }

    #[test]
    #[cfg(unix)]
    fn no_link_is_followed() {
        use std::os::unix::fs::symlink;
        let parent = Parent::new("links");
        let elsewhere = parent.0.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("f0000001"), "precious").unwrap();
        // Links in place of the directory, of a branch, and of a file.
        let linked = parent.0.join("linked");
        symlink(&elsewhere, &linked).unwrap();
        assert!(emptying::remove(&linked).is_err());
        fs::remove_file(&linked).unwrap();
        fs::create_dir(&linked).unwrap();
        symlink(&elsewhere, linked.join("d001")).unwrap();
        symlink(elsewhere.join("f0000001"), linked.join("f0000002")).unwrap();
        assert!(emptying::remove(&linked).is_err(), "a link instead of a branch");
        assert!(!linked.join("f0000002").is_symlink());
        assert_eq!(fs::read(elsewhere.join("f0000001")).unwrap(), b"precious");
    }
}
