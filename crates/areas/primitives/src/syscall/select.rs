use super::idle_sockets::{ACTIVE, FDS, WATCHED};
use crate::{Case, only};

/// Polling descriptors that are passed in a bit set.
pub const CASE: Case = Case {
    operation: "One select with timeout 0 on `fds` idle Unix-domain sockets for reading, none of \
                which is readable, and one copy of the descriptor set, which select overwrites.",
    comparable_to: "libMicro's `select` does the same with 256 socket pairs; lmbench's \
                `lat_select` watches duplicates of one descriptor for writing.",
    // Hundreds of sockets do not fit into the L1 cache.
    core_bound: false,
    params: &[FDS],
    run,
    ..Case::new("syscall", "select").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let (sockets, active) = super::idle_sockets::asked_for(params)?;
    let highest = sockets.fds.iter().copied().max().unwrap_or(0);
    if i64::from(highest) >= libc::FD_SETSIZE as i64 {
        return Err(measure::CaseError::Unsupported(format!(
            "descriptor {highest} does not fit a set of {}",
            libc::FD_SETSIZE
        )));
    }
    // SAFETY: an all-zero set is empty, and every descriptor fits it.
    let watched = unsafe {
        let mut set: libc::fd_set = std::mem::zeroed();
        sockets.fds.iter().for_each(|&fd| libc::FD_SET(fd, &mut set));
        set
    };
    let none = std::ptr::null_mut();
    round.expect_syscalls(1.0);
    round.time_call("select", || {
        let mut ready = watched;
        let mut at_once = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the set holds open descriptors up to `highest`; the other sets are null.
        let found = unsafe { libc::select(highest + 1, &mut ready, none, none, &mut at_once) };
        found == active as libc::c_int
    })
}

/// Polling descriptors that are passed in a bit set, some of which are ready.
pub const PARTLY_ACTIVE: Case = Case {
    operation: "One copy of the set and one select with timeout 0 of a number of Unix-domain sockets, a share of which is \
                readable.",
    comparable_to: "libMicro's `select` has such a share too; syscall/select is the same with none.",
    params: &[WATCHED, ACTIVE],
    run: CASE.run,
    ..Case::new("syscall", "select-active").on_linux()
};
