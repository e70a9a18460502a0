use crate::{Case, Only, Param, Takes, only};

/// The parameter `bytes`: number of bytes that one call transfers.
pub const BYTES: Param = Param::new("bytes", &["1k", "100k"])
    .meaning("how many bytes one call transfers")
    .full(&["1k", "2k", "5k", "10k", "20k", "50k", "100k"])
    .takes(Takes::Size(1 << 30));

/// Reading from a cached file: in long reads, copying takes more time than the call.
pub const CASE: Case = Case {
    operation: "One pread of a number of bytes from the beginning of a temporary file, which is cached.",
    comparable_to: "libMicro's `read` with 1 to 100 KiB from a file in a memory file system; syscall/pread-4k reads this \
                    program's own file.",
    only: Only::Unix("Windows has ReadFile: see syscall/read-file-4k"),
    params: &[BYTES],
    run,
    ..Case::new("syscall", "pread")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    let bytes = crate::size_of(params, "bytes")?;
    let file = super::unnamed_file::containing(&vec![7; bytes])?;
    let (fd, mut buffer) = (file.as_raw_fd(), vec![0u8; bytes]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and length describe `buffer`.
    round.time_call("pread", || unsafe {
        libc::pread(fd, buffer.as_mut_ptr().cast(), bytes, 0) == bytes as isize
    })?;
    match buffer.iter().all(|&byte| byte == 7) {
        true => Ok(()),
        false => Err(CaseError::Failed("pread gave other bytes than those written".into())),
    }
}
