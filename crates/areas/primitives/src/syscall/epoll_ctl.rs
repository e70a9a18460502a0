use crate::{Case, only};

/// Registering a descriptor for epoll, and removing it.
pub const CASE: Case = Case {
    operation: "One epoll_ctl that adds an idle Unix-domain socket to an epoll that watches it for reading, and one that \
                removes it.",
    comparable_to: "Event loops do it for each connection; the measured peers have no such case.",
    run,
    ..Case::new("syscall", "epoll-ctl").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let sockets = super::idle_sockets::open(1)?;
    let epoll = platform::owned::epoll()?;
    let (fd, watched) = (epoll.as_raw_fd(), sockets.fds[0]);
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    round.expect_syscalls(2.0);
    // SAFETY: both descriptors are open, and the event is valid.
    round.time_call("epoll_ctl", || unsafe {
        libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, watched, &mut event) == 0
            && libc::epoll_ctl(fd, libc::EPOLL_CTL_DEL, watched, &mut event) == 0
    })
}
