use super::on_an_object;
use crate::{Case, only};

/// Writing to and reading from a Unix stream socket.
pub const CASE: Case = Case {
    operation: "One write of 1 byte to a Unix-domain stream socket and one read of 1 byte from the other end: never \
                waits, because each worker writes before it reads.",
    comparable_to: "will-it-scale's unix1 does the same with a socket pair for each task.",
    run,
    ..on_an_object("unix-stream").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use measure::CaseError;

    round.expect_syscalls(2.0);
    let make = |_| UnixStream::pair().map_err(|e| CaseError::from_io("a socket pair", &e));
    scale(params, round, "socket pair", make, |(a, b)| {
        let (sent, mut got) = (7u8, 0u8);
        // SAFETY: both descriptors are open; both pointers are to 1 byte.
        unsafe {
            libc::write(a.as_raw_fd(), (&raw const sent).cast(), 1) == 1
                && libc::read(b.as_raw_fd(), (&raw mut got).cast(), 1) == 1
                && got == sent
        }
    })
}
