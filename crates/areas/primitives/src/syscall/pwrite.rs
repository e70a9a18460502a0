use super::pread::BYTES;
use crate::{Case, only};

/// Writing to a cached file: in long writes, copying takes more time than the call.
pub const CASE: Case = Case {
    operation: "One pwrite of a number of bytes to the beginning of a temporary file, which is cached.",
    comparable_to: "libMicro's `write` with 1 to 100 KiB to a file in a memory file system; syscall/pwrite-4k is the same \
                    with 4,096 bytes.",
    params: &[BYTES],
    run,
    ..Case::new("syscall", "pwrite").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use measure::CaseError;

    let bytes = crate::size_of(params, "bytes")?;
    let file = super::unnamed_file::open()?;
    let (fd, buffer) = (file.as_raw_fd(), vec![7u8; bytes]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and length describe `buffer`.
    round.time_call("pwrite", || unsafe {
        libc::pwrite(fd, buffer.as_ptr().cast(), bytes, 0) == bytes as isize
    })?;
    let mut written = vec![0; bytes];
    let read = file.read_exact_at(&mut written, 0);
    read.map_err(|e| CaseError::from_io("reading the temporary file", &e))?;
    match written == buffer {
        true => Ok(()),
        false => Err(CaseError::Failed("the file has other bytes than those written".into())),
    }
}
