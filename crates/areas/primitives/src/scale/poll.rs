use super::on_an_object;
use crate::{Case, only};

/// Polling descriptors.
pub const CASE: Case = Case {
    operation: "One poll with timeout 0 of 64 idle Unix-domain sockets: none is readable.",
    comparable_to: "will-it-scale's poll1 watches one pipe of each task, its poll2 128 files of each.",
    run,
    ..on_an_object("poll").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use crate::syscall::idle_sockets;

    round.expect_syscalls(1.0);
    let make = |_| idle_sockets::open(64);
    scale(params, round, "poll", make, |sockets| {
        let mut list = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 64];
        for (entry, &fd) in list.iter_mut().zip(&sockets.fds) {
            entry.fd = fd;
        }
        // SAFETY: the pointer and count describe `list`.
        unsafe { libc::poll(list.as_mut_ptr(), 64, 0) == 0 }
    })
}
