//! Files with names, for calls that take a path.

use std::path::{Path, PathBuf};

use measure::CaseError;
use platform::cleanup::Directory;

/// A directory for files of this process. It is removed with its files when dropped, or by the coordinator after this process was
/// killed.
#[derive(Debug)]
pub struct NamedFiles {
    directory: Directory,
}

impl NamedFiles {
    /// Creates an empty directory in that for temporary files.
    ///
    /// # Errors
    /// Errors of mkdir(2).
    pub fn new() -> Result<Self, CaseError> {
        let made = Directory::new();
        let directory = made.map_err(|e| CaseError::from_io("a temporary directory", &e))?;
        Ok(Self { directory })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of file `number`, which need not exist.
    pub fn file(&self, number: usize) -> PathBuf {
        self.path().join(Directory::file(false, number))
    }

    /// Creates a file with this content and returns its path.
    ///
    /// # Errors
    /// Errors of open(2) and write(2).
    pub fn create(&self, number: usize, content: &[u8]) -> Result<PathBuf, CaseError> {
        let path = self.file(number);
        let written = std::fs::write(&path, content);
        written.map_err(|e| CaseError::from_io("a temporary file", &e))?;
        Ok(path)
    }
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
