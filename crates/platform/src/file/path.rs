//! Paths of temporary files, and paths as C strings.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use crate::CaseError;

/// The path of a temporary file, which is removed when this value is dropped; if this process is killed, the coordinator removes
/// it.
pub struct TemporaryPath(pub PathBuf);

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Converts a path to a C string.
///
/// # Errors
/// `Failed` if the path contains NUL.
pub fn c_path(path: &Path) -> Result<CString, CaseError> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|e| CaseError::Failed(format!("the path {}: {e}", path.display())))
}
