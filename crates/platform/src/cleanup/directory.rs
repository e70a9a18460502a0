//! The one directory a worker may create, for many files: only files and directories of known names are ever removed.

use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = "oscost-files-";

/// Maximum length of a name, in bytes: the limit of most file systems.
pub const LONGEST_NAME: usize = 255;

/// Maximum depth of directories: one home and its nested branches.
const DEEPEST: usize = 40;

/// A worker's directory. Dropping it removes it with all its files; after a kill, a sweep does.
///
/// Some file systems spread directories over their parts by the number of directories in each, and put a new one where one
/// was just removed, beside the remains of its files; see [`crate::file::filesystem::spread_directories_of`].
///
/// Only files named by [`Directory::file`] and directories named by [`Directory::branch`] are removed; other entries stay,
/// and no link is followed.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// A lock, held while this process is alive.
    _hold: Option<std::fs::File>,
    /// Whether the home directory is kept, empty, when this is dropped.
    home_stays: bool,
}

impl Directory {
    /// Creates the directory in `parent`; its name contains this process's pid.
    ///
    /// # Errors
    /// Errors of mkdir(2).
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        let path = path_of(parent, std::process::id());
        // The directory may be of an earlier process with the same pid.
        let _ = remove(&path, Held::Perhaps);
        os::make(&path)?;
        let hold = os::hold(&path);
        crate::file::filesystem::spread_directories_of(&path);
        Ok(Self { path, _hold: hold, home_stays: false })
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
        // The next sweep tries again.
        let _ = match self.home_stays {
            true => os::clear(&self.path.join(Self::home())),
            false => remove(&self.path, Held::No),
        };
    }
}

/// Whether the creator of a directory may still use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The process has ended, or is this one.
    No,
    /// The process may be alive in another container.
    Perhaps,
}

/// The directory that the process `pid` creates in `parent`.
pub fn path_of(parent: &Path, pid: u32) -> PathBuf {
    parent.join(format!("{PREFIX}{pid}"))
}

/// The pid in the name of a worker's directory.
pub fn pid_in(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(PREFIX)?;
    let pid = digits.parse().ok()?;
    (format!("{pid}") == digits).then_some(pid)
}

/// Whether a file of this name was created by a worker.
fn is_file(name: &[u8]) -> bool {
    is_named(name, b"fg")
}

/// Whether a directory of this name was created by a worker.
fn is_branch(name: &[u8]) -> bool {
    is_named(name, b"d")
}

fn is_named(name: &[u8], first: &[u8]) -> bool {
    let digits = name.get(1..).unwrap_or_default();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    name.len() <= LONGEST_NAME && name.first().is_some_and(|c| first.contains(c)) && is_number
}

/// Removes a worker's files and branches from the directory `path`, and the directory if it is then empty. Removes nothing
/// if `path` is not a worker's directory, or is locked.
///
/// # Errors
/// If something could not be removed, or is left.
pub use os::remove;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ffi::{CStr, CString};
    use std::fs::{DirBuilder, File, OpenOptions};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use super::{DEEPEST, Held, is_branch, is_file};

    const DIRECTORY: libc::c_int = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

    pub fn make(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Locks the directory until the process ends, also if it has another pid in its container; `None` where there are no
    /// such locks.
    pub fn hold(path: &Path) -> Option<File> {
        let opened = OpenOptions::new().read(true).custom_flags(DIRECTORY).open(path).ok()?;
        opened.try_lock().ok().map(|()| opened)
    }

    pub fn remove(path: &Path, held: Held) -> io::Result<()> {
        let opened = OpenOptions::new().read(true).custom_flags(DIRECTORY).open(path)?;
        // SAFETY: takes nothing and cannot fail.
        if opened.metadata()?.uid() != unsafe { libc::geteuid() } {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        if held == Held::Perhaps
            && matches!(opened.try_lock(), Err(std::fs::TryLockError::WouldBlock))
        {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        empty(opened.into(), DEEPEST)?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends with NUL.
        done(unsafe { libc::rmdir(path.as_ptr()) })
    }

    /// Removes a worker's files and branches from its home.
    pub fn clear(home: &Path) -> io::Result<()> {
        let opened = OpenOptions::new().read(true).custom_flags(DIRECTORY).open(home)?;
        empty(opened.into(), DEEPEST - 1)
    }

    fn done(result: libc::c_int) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Removes a worker's files and branches from `directory`, down to `depth` levels of branches.
    fn empty(directory: OwnedFd, depth: usize) -> io::Result<()> {
        let mut entries = Entries::of(directory)?;
        // No system guarantees to return names that follow a removed one.
        loop {
            let mut removed = false;
            entries.rewind();
            while let Some(name) = entries.next() {
                removed |= match () {
                    () if is_file(name.to_bytes()) => entries.unlink(&name, 0).is_ok(),
                    () if depth > 0 && is_branch(name.to_bytes()) => {
                        entries.open(&name).is_ok_and(|branch| empty(branch, depth - 1).is_ok())
                            && entries.unlink(&name, libc::AT_REMOVEDIR).is_ok()
                    }
                    () => false,
                };
            }
            if !removed {
                return Ok(());
            }
        }
    }

    /// The names in an open directory.
    struct Entries(*mut libc::DIR);

    impl Entries {
        fn of(directory: OwnedFd) -> io::Result<Self> {
            // SAFETY: the descriptor is open; the stream owns it from here on.
            let stream = unsafe { libc::fdopendir(directory.as_raw_fd()) };
            if stream.is_null() {
                return Err(io::Error::last_os_error());
            }
            let _ = directory.into_raw_fd();
            Ok(Self(stream))
        }

        fn rewind(&mut self) {
            // SAFETY: the stream is open.
            unsafe { libc::rewinddir(self.0) };
        }

        fn next(&mut self) -> Option<CString> {
            // SAFETY: the stream is open; the entry is valid until the next call, and its name ends with NUL.
            unsafe {
                let entry = libc::readdir(self.0);
                (!entry.is_null()).then(|| CStr::from_ptr((*entry).d_name.as_ptr()).to_owned())
            }
        }

        fn fd(&self) -> libc::c_int {
            // SAFETY: the stream is open.
            unsafe { libc::dirfd(self.0) }
        }

        fn unlink(&self, name: &CStr, flags: libc::c_int) -> io::Result<()> {
            // SAFETY: the name ends with NUL.
            done(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), flags) })
        }

        fn open(&self, name: &CStr) -> io::Result<OwnedFd> {
            // SAFETY: the name ends with NUL; a returned descriptor is owned by nothing else.
            unsafe {
                let fd = libc::openat(self.fd(), name.as_ptr(), libc::O_RDONLY | DIRECTORY);
                if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
            }
        }
    }

    impl Drop for Entries {
        fn drop(&mut self) {
            // SAFETY: the stream is open and not used again.
            unsafe { libc::closedir(self.0) };
        }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use super::{DEEPEST, Held, is_branch, is_file};

    pub fn make(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub fn hold(_path: &Path) -> Option<File> {
        None
    }

    pub fn remove(path: &Path, _held: Held) -> io::Result<()> {
        // The equivalent of a link is not a directory by its own metadata.
        if !fs::symlink_metadata(path)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        empty(path, DEEPEST)?;
        fs::remove_dir(path)
    }

    /// Removes a worker's files and branches from its home.
    pub fn clear(home: &Path) -> io::Result<()> {
        empty(home, DEEPEST - 1)
    }

    fn empty(directory: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            let name = name.as_encoded_bytes();
            // Errors are ignored: an entry that cannot be removed, such as a branch with a user's files, must not keep the
            // rest.
            if kind.is_file() && is_file(name) {
                let _ = fs::remove_file(entry.path());
            } else if kind.is_dir() && depth > 0 && is_branch(name) {
                let _ = empty(&entry.path(), depth - 1).and_then(|()| fs::remove_dir(entry.path()));
            }
        }
        Ok(())
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
        let (path, home) = (directory.path().to_owned(), directory.path().join(Directory::home()));
        fs::create_dir_all(home.join(Directory::branch(3))).unwrap();
        fs::write(home.join(Directory::branch(3)).join(Directory::file(true, 1)), "x").unwrap();
        fs::write(home.join(Directory::file(false, 1)), "x").unwrap();
        drop(directory);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
        remove(&path, Held::Perhaps).unwrap();
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
        let linked = path_of(&parent.0, 4_194_305);
        symlink(&elsewhere, &linked).unwrap();
        assert!(remove(&linked, Held::No).is_err());
        fs::remove_file(&linked).unwrap();
        fs::create_dir(&linked).unwrap();
        symlink(&elsewhere, linked.join("d001")).unwrap();
        symlink(elsewhere.join("f0000001"), linked.join("f0000002")).unwrap();
        assert!(remove(&linked, Held::No).is_err(), "a link instead of a branch");
        assert!(!linked.join("f0000002").is_symlink());
        assert_eq!(fs::read(elsewhere.join("f0000001")).unwrap(), b"precious");
    }

    #[test]
    #[cfg(unix)]
    fn a_locked_directory_is_not_removed() {
        let parent = Parent::new("held");
        let directory = Directory::new_in(&parent.0).unwrap();
        fs::write(directory.path().join("f0000001"), "x").unwrap();
        assert!(remove(directory.path(), Held::Perhaps).is_err());
        assert!(directory.path().join("f0000001").exists());
    }

    #[test]
    fn only_its_own_names_are_known() {
        assert_eq!(pid_in("oscost-files-17"), Some(17));
        for name in
            ["oscost-files-017", "oscost-files-17x", "oscost-17", "oscost-files-", "files-17"]
        {
            assert_eq!(pid_in(name), None, "{name}");
        }
    }
}
