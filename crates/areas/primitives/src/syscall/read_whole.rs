//! Opening, reading and closing a small file of the kernel.

use std::ffi::CStr;

use measure::{CaseError, Round};
use platform::only;

/// Times one open of the file, one read of all of it, and one close.
///
/// # Errors
/// `Unsupported` where the file does not exist, as in a container without the file system; other errors of open(2); `Failed` if the
/// file is empty or longer than a page.
#[allow(dead_code, reason = "not on every system")]
#[only(unix)]
pub fn time(round: &mut Round, path: &CStr) -> Result<(), CaseError> {
    const BYTES: usize = 4096;

    let name = path.to_string_lossy();
    if !std::path::Path::new(&*name).exists() {
        return Err(CaseError::Unsupported(format!("{name} does not exist here")));
    }
    let mut content = [0u8; BYTES];
    round.time_call(&name, || {
        // SAFETY: the path ends with NUL; the pointer and length describe `content`; the descriptor is closed.
        unsafe {
            let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if fd < 0 {
                return false;
            }
            let length = libc::read(fd, content.as_mut_ptr().cast(), BYTES);
            libc::close(fd) == 0 && length > 0 && length < BYTES as isize
        }
    })
}
