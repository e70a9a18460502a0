use crate::{Case, only};

/// Writing from several buffers at once.
pub const CASE: Case = Case {
    operation: "One writev of 4,096 bytes from 16 buffers of 256 bytes to /dev/null, which takes them without reading them.",
    comparable_to: "libMicro's `writev` writes 10 buffers of 1 KiB.",
    core_bound: true,
    run,
    ..Case::new("syscall", "writev").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let opened = std::fs::File::options().write(true).open("/dev/null");
    let null = opened.map_err(|e| measure::CaseError::from_io("/dev/null", &e))?;
    let (fd, page) = (null.as_raw_fd(), [1u8; 4096]);
    let part = |part: &[u8]| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    };
    let parts: Vec<libc::iovec> = page.chunks(256).map(part).collect();
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the parts describe `page`, which the call only reads.
    round.time_call("writev", || unsafe {
        libc::writev(fd, parts.as_ptr(), parts.len() as libc::c_int) == 4096
    })
}
