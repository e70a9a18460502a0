use platform::on_linux;

use crate::{Case, Only};

/// Starting and ending to watch a descriptor.
pub const CASE: Case = Case {
    area: "syscall",
    name: "epoll-ctl",
    operation: "One epoll_ctl that adds an idle Unix-domain socket to an epoll that watches it for reading, and one that \
                removes it.",
    comparable_to: "Event loops do it for each connection; the measured peers have no such case.",
    only: Only::Linux("measured on Linux only"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            use measure::CaseError;
            use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

            let sockets = super::idle_sockets::open(1)?;
            // SAFETY: takes a number.
            let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            if fd < 0 {
                return Err(CaseError::last_os_error("epoll_create1"));
            }
            // SAFETY: the descriptor was just opened and is ours alone.
            let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
            let (fd, watched) = (epoll.as_raw_fd(), sockets.fds[0]);
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            round.expect_syscalls(2.0);
            // SAFETY: both descriptors are open, and the event is valid.
            super::time(round, "epoll_ctl", || unsafe {
                libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, watched, &mut event) == 0
                    && libc::epoll_ctl(fd, libc::EPOLL_CTL_DEL, watched, &mut event) == 0
            })
        })
    },
};
