//! Shared by the cases of system calls: timing of a checked call, and the file that some of them use.

use measure::{CaseError, Round};
use std::ffi::CString;
use std::fs::File;
use std::hint::black_box;

/// Times `call`, which returns whether it succeeded.
///
/// A first call before the timing finds out whether this system supports it. The result of every timed call is checked, which
/// adds one addition to the timed code.
///
/// # Errors
/// The system's error if the first call fails; `Failed` if a later one does.
pub fn time(
    round: &mut Round,
    name: &str,
    mut call: impl FnMut() -> bool,
) -> Result<(), CaseError> {
    if !call() {
        return Err(CaseError::last_os_error(name));
    }
    let mut failures = 0u64;
    round.time(|| failures += u64::from(!black_box(call())))?;
    match failures {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{name} worked at first, then failed {n} times"))),
    }
}

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
    super::named_files::c_path(&path)
}

/// Declares the number of system calls of an operation, except on Windows, where it makes other calls.
pub fn expect_unix_calls(round: &mut Round, per_operation: f64) {
    if platform::IS_UNIX {
        round.expect_syscalls(per_operation);
    }
}
