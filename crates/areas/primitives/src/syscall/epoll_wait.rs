use super::idle_sockets::FDS;
use crate::{Case, only};

/// Polling descriptors that were registered before the call.
pub const CASE: Case = Case {
    operation: "One epoll_wait with timeout 0 on an epoll instance that watches `fds` idle \
                Unix-domain sockets for reading; none is readable.",
    comparable_to: "`perf bench epoll wait` counts events that did occur. syscall/poll and \
                syscall/select check the same sockets without an epoll instance.",
    core_bound: true,
    params: &[FDS],
    run,
    ..Case::new("syscall", "epoll-wait").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use std::os::fd::AsRawFd;

    let sockets = super::idle_sockets::open(crate::count_of(params, "fds")?)?;
    let epoll = platform::owned::epoll()?;
    let fd = epoll.as_raw_fd();
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    for &watched in &sockets.fds {
        // SAFETY: both descriptors are open, and the event is valid.
        let done = unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, watched, &mut event) };
        if done != 0 {
            return Err(CaseError::last_os_error("epoll_ctl"));
        }
    }
    let mut ready = [event; 64];
    round.expect_syscalls(1.0);
    // SAFETY: the pointer and count describe `ready`.
    round
        .time_call("epoll_wait", || unsafe { libc::epoll_wait(fd, ready.as_mut_ptr(), 64, 0) == 0 })
}
