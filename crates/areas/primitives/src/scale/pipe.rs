use super::on_an_object;
use crate::{Case, only};

/// Writing to and reading from a pipe, a buffer with a lock.
pub const CASE: Case = Case {
    operation: "One write of 1 byte to a pipe and one read of 1 byte from it: never waits, because each worker writes \
                before it reads.",
    comparable_to: "will-it-scale's pipe1 does the same with a pipe for each task.",
    core_bound: true,
    run,
    ..on_an_object("pipe").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    round.expect_syscalls(2.0);
    let make = |_| std::io::pipe().map_err(|e| CaseError::from_io("a pipe", &e));
    scale(params, round, "pipe", make, |(reader, writer)| {
        let (sent, mut got) = (7u8, 0u8);
        // SAFETY: both descriptors are open; both pointers are to 1 byte.
        unsafe {
            libc::write(writer.as_raw_fd(), (&raw const sent).cast(), 1) == 1
                && libc::read(reader.as_raw_fd(), (&raw mut got).cast(), 1) == 1
                && got == sent
        }
    })
}
