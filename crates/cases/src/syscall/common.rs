//! What the cases of system calls share: how a call is timed, and the file some of them use.

use measure::{CaseError, Round};
use platform::on_unix;
use std::ffi::CString;
use std::fs::File;
use std::hint::black_box;

/// Times `call`, which says whether it did what it should.
///
/// It is made once before, to see that this system has it; and every call on the clock is looked
/// at, for which one addition is on the clock with it.
///
/// # Errors
/// What the system said to the first call; `Failed` if a later one went wrong.
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

/// This program's own file, open for reading: it is there, is cached, and need not be made.
pub fn own_program() -> Result<File, CaseError> {
    let opened = std::env::current_exe().and_then(File::open);
    opened.map_err(|e| CaseError::from_io("opening this program's own file", &e))
}

/// Where that file is, for calls that take a path.
#[allow(dead_code, reason = "not on every system")]
pub fn path_of_own_program() -> Result<CString, CaseError> {
    on_unix!({
        use std::os::unix::ffi::OsStringExt;

        let path = std::env::current_exe();
        let path = path.map_err(|e| CaseError::from_io("finding this program's own file", &e))?;
        CString::new(path.into_os_string().into_vec())
            .map_err(|e| CaseError::Failed(format!("the path of this program: {e}")))
    })
}
