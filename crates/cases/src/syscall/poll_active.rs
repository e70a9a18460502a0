use super::idle_sockets::{ACTIVE, WATCHED};
use crate::{Case, on_linux};

/// Watching with the call that takes a list, of which some are ready.
pub const CASE: Case = Case {
    operation: "One poll with timeout 0 of a number of Unix-domain sockets, a share of which is readable.",
    comparable_to: "libMicro's `poll` has such a share too; lmbench's `lat_select` has none, and syscall/poll is the same \
                    with none.",
    params: &[WATCHED, ACTIVE],
    run: on_linux!(|params, round| {
        let (fds, active) = super::idle_sockets::counts(params)?;
        let sockets = super::idle_sockets::open_partly_active(fds, active)?;
        let watch = |&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut list: Vec<libc::pollfd> = sockets.fds.iter().map(watch).collect();
        let count = list.len() as libc::nfds_t;
        round.expect_syscalls(1.0);
        super::time(round, "poll", || {
            // SAFETY: the pointer and count describe `list`.
            unsafe { libc::poll(list.as_mut_ptr(), count, 0) == active as libc::c_int }
        })
    }),
    ..Case::new("syscall", "poll-active").on_linux()
};
