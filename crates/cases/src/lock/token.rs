use measure::{CaseError, Params, Round};
use platform::{on_linux, on_unix};

use super::{METRICS, THREADS_OR_PROCESSES};
use crate::{Case, Only};

/// A pipe with one byte: the worker that has read the byte holds the lock.
pub const PIPE: Case = Case {
    area: "lock",
    name: "pipe-token",
    operation: "One read of the only byte from a pipe, and one write of this byte back.",
    comparable_to: "will-it-scale's `pipe1` makes the same calls with one pipe per worker, which \
                is workers=1 here. GNU make's job server is such a lock.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: THREADS_OR_PROCESSES,
    metrics: METRICS,
    run: run_pipe,
};

/// The same with an eventfd, which has no data buffer.
pub const EVENTFD: Case = Case {
    name: "eventfd-token",
    operation: "One read that takes 1 from an eventfd with the initial value 1 (EFD_SEMAPHORE), \
                and one write that adds 1.",
    comparable_to: "will-it-scale's `eventfd1` makes the same calls with one eventfd per worker, \
                which is workers=1 here.",
    only: Only::Linux("measured on Linux only"),
    run: run_eventfd,
    ..PIPE
};

fn run_pipe(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_unix!(params, round, {
        use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

        use super::{Lock, measure};

        struct Pipe(PipeReader, PipeWriter);

        impl Lock for Pipe {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                let read = (&self.0).read(&mut [0]);
                assert!(matches!(read, Ok(1)), "read from the pipe: {read:?}");
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                let written = (&self.1).write(&[0]);
                assert!(matches!(written, Ok(1)), "write to the pipe: {written:?}");
            }
        }

        let (reader, writer) = pipe().map_err(|e| CaseError::from_io("pipe", &e))?;
        let token = Pipe(reader, writer);
        token.release(&mut ());
        round.expect_syscalls(2.0);
        measure(params, round, &token)
    })
}

fn run_eventfd(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_linux!(params, round, {
        use std::io;
        use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

        use super::{Lock, measure};

        struct EventFd(OwnedFd);

        impl Lock for EventFd {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                let mut taken = 0u64;
                // SAFETY: the descriptor is open, and `taken` has the 8 bytes that are read.
                let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut taken).cast(), 8) };
                assert!(read == 8, "read from the eventfd: {}", io::Error::last_os_error());
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                let given = 1u64;
                // SAFETY: the descriptor is open, and `given` has the 8 bytes that are written.
                let written =
                    unsafe { libc::write(self.0.as_raw_fd(), (&raw const given).cast(), 8) };
                assert!(written == 8, "write to the eventfd: {}", io::Error::last_os_error());
            }
        }

        // SAFETY: creates a new descriptor; no memory is passed.
        let fd = unsafe { libc::eventfd(1, libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(CaseError::last_os_error("eventfd"));
        }
        // SAFETY: the descriptor is new and has no other owner.
        let token = EventFd(unsafe { OwnedFd::from_raw_fd(fd) });
        round.expect_syscalls(2.0);
        measure(params, round, &token)
    })
}
