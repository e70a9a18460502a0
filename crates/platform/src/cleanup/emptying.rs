//! Removal of a worker's directory with its files.

/// Maximum length of a name, in bytes: the limit of most file systems.
pub const LONGEST_NAME: usize = 255;

/// Maximum depth of directories: one home and its nested branches.
const DEEPEST: usize = 40;

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
/// if `path` is not a directory of this user.
///
/// # Errors
/// If something could not be removed, or is left.
pub use os::remove;

/// Removes a worker's files and branches from its home, the directory `home`.
///
/// # Errors
/// If it cannot be read.
pub use os::clear;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ffi::{CStr, CString};
    use std::fs::OpenOptions;
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use super::{DEEPEST, is_branch, is_file};
    use crate::file::private::is_this_users;

    const DIRECTORY: libc::c_int = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

    pub fn remove(path: &Path) -> io::Result<()> {
        let opened = OpenOptions::new().read(true).custom_flags(DIRECTORY).open(path)?;
        if !is_this_users(&opened.metadata()?) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        empty(opened.into(), DEEPEST)?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends with NUL.
        done(unsafe { libc::rmdir(path.as_ptr()) })
    }

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
    use std::fs;
    use std::io;
    use std::path::Path;

    use super::{DEEPEST, is_branch, is_file};

    pub fn remove(path: &Path) -> io::Result<()> {
        // The equivalent of a link is not a directory by its own metadata.
        if !fs::symlink_metadata(path)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        empty(path, DEEPEST)?;
        fs::remove_dir(path)
    }

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
