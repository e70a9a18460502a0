//! Files with names, for calls that take a path.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::CaseError;
use platform::cleanup::Directory;

/// A process may have one such directory: cases that run at the same time in one process wait for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A directory for files of this process, removed with them when dropped, or after this process was killed.
#[derive(Debug)]
pub struct NamedFiles {
    directory: Directory,
    _alone: MutexGuard<'static, ()>,
}

impl NamedFiles {
    /// An empty one in the directory for temporary files.
    ///
    /// # Errors
    /// Those of mkdir(2).
    pub fn new() -> Result<Self, CaseError> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Directory::new_in(&std::env::temp_dir());
        let directory = made.map_err(|e| CaseError::from_io("a temporary directory", &e))?;
        Ok(Self { directory, _alone: alone })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of file `number`, which need not exist.
    pub fn file(&self, number: usize) -> PathBuf {
        self.path().join(Directory::file(false, number))
    }

    /// A new file with this content, and its path.
    ///
    /// # Errors
    /// Those of open(2) and write(2).
    pub fn create(&self, number: usize, content: &[u8]) -> Result<PathBuf, CaseError> {
        let path = self.file(number);
        let written = std::fs::write(&path, content);
        written.map_err(|e| CaseError::from_io("a temporary file", &e))?;
        Ok(path)
    }
}

/// The path of a temporary file, which is removed when this is dropped; if this process is killed, the coordinator removes it.
pub struct TemporaryPath(pub PathBuf);

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A path for a call of the C library.
///
/// # Errors
/// `Failed` if the path has a zero in it.
pub fn c_path(path: &Path) -> Result<CString, CaseError> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|e| CaseError::Failed(format!("the path {}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left() {
        let files = NamedFiles::new().unwrap();
        let path = files.create(1, b"x").unwrap();
        assert!(path.exists() && path.starts_with(files.path()) && !files.file(2).exists());
        let folder = files.path().to_owned();
        drop(files);
        assert!(!folder.exists());
    }
}
