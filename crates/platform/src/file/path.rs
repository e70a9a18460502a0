//! Paths as C strings.

use std::ffi::CString;
use std::path::Path;

use crate::CaseError;

/// Converts a path to a C string.
///
/// # Errors
/// `Failed` if the path contains NUL.
pub fn c_path(path: &Path) -> Result<CString, CaseError> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|e| CaseError::Failed(format!("the path {}: {e}", path.display())))
}
