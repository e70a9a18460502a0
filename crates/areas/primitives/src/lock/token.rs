use super::{THREADS_OR_PROCESSES, lock};
use crate::{Case, only};

/// A pipe with one byte: the worker that has read the byte holds the lock.
pub const PIPE: Case = Case {
    operation: "One read of the only byte from a pipe, and one write of this byte back.",
    comparable_to: "will-it-scale's `pipe1` makes the same calls with one pipe per worker, which \
                is workers=1 here. GNU make's job server is such a lock.",
    params: THREADS_OR_PROCESSES,
    run: run_pipe,
    ..lock("pipe-token").on_unix()
};

#[only(unix)]
fn run_pipe(
    params: &measure::Params,
    round: &mut measure::Round,
) -> Result<(), measure::CaseError> {
    use std::io::{Read, Write, pipe};

    use measure::CaseError;

    let (reader, writer) = pipe().map_err(|e| CaseError::from_io("pipe", &e))?;
    let acquire = || {
        let read = (&reader).read(&mut [0]);
        assert!(matches!(read, Ok(1)), "read from the pipe: {read:?}");
    };
    let release = || {
        let written = (&writer).write(&[0]);
        assert!(matches!(written, Ok(1)), "write to the pipe: {written:?}");
    };
    release();
    round.expect_syscalls(2.0);
    super::measure(params, round, &(acquire, release))
}

/// An eventfd, which has no data buffer: the worker that has read it holds the lock.
pub const EVENTFD: Case = Case {
    name: "eventfd-token",
    operation: "One read that takes 1 from an eventfd with the initial value 1 (EFD_SEMAPHORE), \
                and one write that adds 1.",
    comparable_to: "will-it-scale's `eventfd1` makes the same calls with one eventfd per worker, \
                which is workers=1 here.",
    run: run_eventfd,
    ..PIPE.on_linux()
};

#[only(linux)]
fn run_eventfd(
    params: &measure::Params,
    round: &mut measure::Round,
) -> Result<(), measure::CaseError> {
    use std::io;
    use std::os::fd::AsRawFd;

    let event = platform::owned::eventfd(1, libc::EFD_SEMAPHORE)?;
    let acquire = || {
        let mut taken = 0u64;
        // SAFETY: the descriptor is open, and `taken` has the 8 bytes that are read.
        let read = unsafe { libc::read(event.as_raw_fd(), (&raw mut taken).cast(), 8) };
        assert!(read == 8, "read from the eventfd: {}", io::Error::last_os_error());
    };
    let release = || {
        let given = 1u64;
        // SAFETY: the descriptor is open, and `given` has the 8 bytes that are written.
        let written = unsafe { libc::write(event.as_raw_fd(), (&raw const given).cast(), 8) };
        assert!(written == 8, "write to the eventfd: {}", io::Error::last_os_error());
    };
    round.expect_syscalls(2.0);
    super::measure(params, round, &(acquire, release))
}
