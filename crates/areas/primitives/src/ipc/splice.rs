use measure::{CaseError, Params, Round};

use super::{BANDWIDTH, LENGTH};
use crate::{Case, Only, only};

/// Passing on pages of a file without copying.
pub const SPLICE: Case = Case {
    operation: "One splice of n bytes from a cached file into a pipe and one splice of them from there to /dev/null, by the \
                same task: two calls, no copy.",
    comparable_to: "stress-ng's `splice` stressor moves from /dev/zero to /dev/null.",
    only: Only::Linux("exists only on Linux"),
    params: &[LENGTH],
    metrics: &[BANDWIDTH],
    run: |params, round| run(params, round, false),
    ..Case::new("ipc", "splice")
};

/// Duplicating pages of a pipe.
pub const TEE: Case = Case {
    name: "tee",
    operation: "One tee of n bytes from a pipe that keeps them into another, and one splice of them from there to \
                /dev/null, by the same task: two calls, no copy.",
    comparable_to: "stress-ng's `tee` stressor has three processes.",
    run: |params, round| run(params, round, true),
    ..SPLICE
};

#[only(linux)]
fn run(params: &Params, round: &mut Round, tees: bool) -> Result<(), CaseError> {
    use std::fs::File;
    use std::io::{self, Read, Seek};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::ptr::null_mut;

    use super::{contents, file_of};

    /// A pipe with a capacity of at least `bytes`.
    fn pipe(bytes: usize) -> Result<[File; 2], CaseError> {
        let (reader, writer) = io::pipe().map_err(|e| CaseError::from_io("pipe", &e))?;
        // SAFETY: the call takes numbers only.
        let size =
            unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, bytes as libc::c_int) };
        if size < 0 {
            return Err(CaseError::last_os_error("F_SETPIPE_SZ"));
        }
        Ok([OwnedFd::from(reader), OwnedFd::from(writer)].map(File::from))
    }

    let length = super::length_of(params)?;
    let moved = |result: isize| result == length as isize;
    let splice = |from: &File, at: *mut i64, to: &File| {
        // SAFETY: the descriptors are open; `at` is null or a valid offset.
        moved(unsafe { libc::splice(from.as_raw_fd(), at, to.as_raw_fd(), null_mut(), length, 0) })
    };
    let tee = |from: &File, to: &File| {
        // SAFETY: the descriptors are open.
        moved(unsafe { libc::tee(from.as_raw_fd(), to.as_raw_fd(), length, 0) })
    };
    let file = file_of(length)?;
    let ([reader, writer], [kept, filler]) = (pipe(length)?, pipe(length)?);
    let mut start = 0;
    if tees && !splice(&file, &mut start, &filler) {
        return Err(CaseError::last_os_error("splice"));
    }
    let transfer = |to: &File| {
        let mut start = 0;
        let filled = if tees { tee(&kept, &writer) } else { splice(&file, &mut start, &writer) };
        filled && splice(&reader, null_mut(), to)
    };
    // The pages are once spliced into a file, whose contents are compared.
    let failed = |e: io::Error| CaseError::from_io("a file", &e);
    let (mut copy, mut bytes) = (crate::syscall::unnamed_file::open()?, Vec::new());
    if !transfer(&copy) {
        return Err(CaseError::last_os_error("splice or tee"));
    }
    copy.rewind().and_then(|()| copy.read_to_end(&mut bytes)).map_err(failed)?;
    if bytes != contents(length) {
        return Err(CaseError::Failed("other bytes arrived than were sent".into()));
    }
    let null = platform::process::inherited::null_device();
    let null = null.map_err(|e| CaseError::from_io("splice", &e))?;
    round.expect_syscalls(2.0);
    round.time_call("splice or tee", || transfer(&null))?;
    super::report_bandwidth(round, length);
    Ok(())
}
