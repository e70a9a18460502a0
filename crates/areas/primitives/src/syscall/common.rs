//! Shared by the cases of system calls: the file that some of them use.

use measure::CaseError;
use std::ffi::CString;
use std::fs::File;

/// Opens this program's own file for reading: it exists and is in the page cache.
///
/// # Errors
/// Errors of finding or opening the file.
pub fn own_program() -> Result<File, CaseError> {
    let opened = std::env::current_exe().and_then(File::open);
    opened.map_err(|e| CaseError::from_io("opening this program's own file", &e))
}

/// The path of this program's own file, for calls that take a path.
///
/// # Errors
/// The error of finding the file.
#[allow(dead_code, reason = "not on every system")]
pub fn path_of_own_program() -> Result<CString, CaseError> {
    let path = std::env::current_exe();
    let path = path.map_err(|e| CaseError::from_io("finding this program's own file", &e))?;
    platform::file::path::c_path(&path)
}
