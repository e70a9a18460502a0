use super::idle_sockets::{ACTIVE, FDS, WATCHED};
use crate::{Case, Only, only};

/// Polling descriptors that are passed in an array.
pub const CASE: Case = Case {
    operation: "One poll with timeout 0 on `fds` idle Unix-domain sockets for reading; none is \
                readable.",
    comparable_to: "libMicro's `poll` does the same with 256 socket pairs. will-it-scale's `poll2` \
                waits to write to 128 files, which are always ready, and fills the array before \
                each call.",
    only: Only::Unix("Windows has WaitForSingleObject for one handle; see syscall/wait-0"),
    // Hundreds of sockets do not fit into the L1 cache.
    core_bound: false,
    params: &[FDS],
    run,
    ..Case::new("syscall", "poll")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let (sockets, active) = super::idle_sockets::asked_for(params)?;
    let watch = |&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut list: Vec<libc::pollfd> = sockets.fds.iter().map(watch).collect();
    let count = list.len() as libc::nfds_t;
    round.expect_syscalls(1.0);
    // SAFETY: the pointer and count describe `list`.
    round.time_call("poll", || unsafe {
        libc::poll(list.as_mut_ptr(), count, 0) == active as libc::c_int
    })
}

/// Polling descriptors that are passed in an array, some of which are ready.
pub const PARTLY_ACTIVE: Case = Case {
    operation: "One poll with timeout 0 of a number of Unix-domain sockets, a share of which is readable.",
    comparable_to: "libMicro's `poll` has such a share too; lmbench's `lat_select` has none, and syscall/poll is the same \
                    with none.",
    params: &[WATCHED, ACTIVE],
    run: CASE.run,
    ..Case::new("syscall", "poll-active").on_linux()
};
