use measure::{CaseError, Params, Round};

use super::{BANDWIDTH, LENGTH};
use crate::{Case, only};

/// Copying from file to file within the kernel.
pub const CASE: Case = Case {
    operation: "One copy_file_range of n bytes from a cached file over the same bytes of another in the directory for \
                temporary files. Where the file system can share blocks, it shares them.",
    comparable_to: "stress-ng's `copy-file` stressor syncs each copy.",
    params: &[LENGTH],
    metrics: &[BANDWIDTH],
    run,
    ..Case::new("ipc", "copy-file-range").on_linux()
};

#[only(linux)]
fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    use std::io::{Read, Seek};
    use std::os::fd::AsRawFd;

    let length = super::length_of(params)?;
    let (from, mut to) = (super::file_of(length)?, super::file_of(0)?);
    let copy = || {
        let (mut start, mut target) = (0, 0);
        // SAFETY: the descriptors are open, and both offsets are valid.
        let copied = unsafe {
            let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
            libc::copy_file_range(from, &mut start, to, &mut target, length, 0)
        };
        copied == length as isize
    };
    round.expect_syscalls(1.0);
    round.time_call("copy_file_range", copy)?;
    let mut bytes = Vec::new();
    to.rewind()
        .and_then(|()| to.read_to_end(&mut bytes))
        .map_err(|e| CaseError::from_io("reading the copy", &e))?;
    if bytes != super::contents(length) {
        return Err(CaseError::Failed("the copy is not the original".into()));
    }
    super::report_bandwidth(round, length);
    Ok(())
}
