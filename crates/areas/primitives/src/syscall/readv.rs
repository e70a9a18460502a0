use crate::{Case, only};

/// Reading into several buffers at once.
pub const CASE: Case = Case {
    operation: "One readv of 4,096 bytes from /dev/zero into 16 buffers of 256 bytes.",
    comparable_to: "libMicro's `readv` reads into 10 buffers of 1 KiB; eight of lmbench's reads would be needed for the \
                    same.",
    core_bound: true,
    run,
    ..Case::new("syscall", "readv").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let opened = std::fs::File::open("/dev/zero");
    let zero = opened.map_err(|e| measure::CaseError::from_io("/dev/zero", &e))?;
    let (fd, mut page) = (zero.as_raw_fd(), [1u8; 4096]);
    let part =
        |part: &mut [u8]| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() };
    let parts: Vec<libc::iovec> = page.chunks_mut(256).map(part).collect();
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the parts describe `page`.
    round.time_call("readv", || unsafe {
        libc::readv(fd, parts.as_ptr(), parts.len() as libc::c_int) == 4096
    })?;
    match page.iter().all(|&byte| byte == 0) {
        true => Ok(()),
        false => Err(measure::CaseError::Failed("readv left a buffer as it was".into())),
    }
}
