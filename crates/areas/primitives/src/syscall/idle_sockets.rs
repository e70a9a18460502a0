//! Sockets to watch that never receive data.

use measure::{CaseError, Params};

use crate::{Param, Takes, only};

/// The parameter `fds`: number of descriptors that a case watches.
pub const FDS: Param = Param::new("fds", &["10", "100", "500"])
    .meaning("the number of descriptors watched")
    .full(&["1", "10", "100", "500", "1000"])
    .takes(Takes::Count(1 << 20));

/// The parameter `fds` of cases in which some descriptors are ready.
pub const WATCHED: Param = Param { default: &["100"], full: &["10", "100", "500"], ..FDS };

/// The parameter `active`: share of descriptors that are ready.
pub const ACTIVE: Param = Param::new("active", &["50"])
    .meaning("how many of 100 watched descriptors are readable")
    .full(&["1", "10", "50", "100"])
    .takes(Takes::Count(100));

/// The sockets that `params` describe, and the number of readable ones: none without the parameter `active`, otherwise at least
/// one.
///
/// # Errors
/// Errors of [`open`].
pub fn asked_for(params: &Params) -> Result<(IdleSockets, usize), CaseError> {
    let fds = crate::count_of(params, FDS.name)?;
    let is_partly = params.contains_key(ACTIVE.name);
    let share = if is_partly { crate::count_of(params, ACTIVE.name)? } else { 0 };
    let active = (fds * share).div_ceil(100).min(fds);
    Ok((open_partly_active(fds, active)?, active))
}

/// Sockets that receive nothing, closed when dropped.
pub struct IdleSockets {
    /// Descriptors of the sockets.
    pub fds: Vec<i32>,
    _sockets: Box<dyn std::any::Any + Send + Sync>,
}

/// Opens `count` Unix-domain datagram sockets that receive nothing: each takes one descriptor, which is never ready for reading.
/// Every Unix-like system has such sockets.
///
/// # Errors
/// `Unsupported` if the limit on descriptors is too low.
pub fn open(count: usize) -> Result<IdleSockets, CaseError> {
    open_partly_active(count, 0)
}

/// Like [`open`], with `active` of the sockets, evenly spread, always readable: they are at end of file.
///
/// # Errors
/// Errors of [`open`].
#[only(unix)]
pub fn open_partly_active(count: usize, active: usize) -> Result<IdleSockets, CaseError> {
    use std::net::Shutdown;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    /// Maximum number of other descriptors that the program has open.
    const BESIDES: usize = 20;

    allow_descriptors(count + active + BESIDES)?;
    let failed = |e| CaseError::from_io("an idle socket", &e);
    let (mut sockets, mut peers) = (Vec::new(), Vec::new());
    for at in 0..count {
        if (at + 1) * active / count > at * active / count {
            // A peer exists for the shutdown: systems such as gVisor refuse to shut down a socket without one (POSIX:
            // ENOTCONN).
            let (socket, peer) = UnixDatagram::pair().map_err(failed)?;
            socket.shutdown(Shutdown::Read).map_err(failed)?;
            sockets.push(socket);
            peers.push(peer);
        } else {
            sockets.push(UnixDatagram::unbound().map_err(failed)?);
        }
    }
    let fds = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    Ok(IdleSockets { fds, _sockets: Box::new((sockets, peers)) })
}

/// Raises this process's limit on open descriptors to at least `count`.
///
/// # Errors
/// `Unsupported` if the hard limit is lower.
#[only(unix)]
pub fn allow_descriptors(count: usize) -> Result<(), CaseError> {
    let needed = count as libc::rlim_t;
    // SAFETY: `limit` is a valid buffer for the result, and then holds a valid limit.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return Err(CaseError::last_os_error("getrlimit"));
        }
        if limit.rlim_cur >= needed {
            return Ok(());
        }
        if limit.rlim_max < needed {
            let most = limit.rlim_max;
            let reason =
                format!("needs {needed} descriptors, and the hard limit is {most} (ulimit -Hn)");
            return Err(CaseError::Unsupported(reason));
        }
        limit.rlim_cur = needed;
        match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("setrlimit")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn as_many_as_asked_for_are_active() {
        for (count, active) in [(1, 1), (100, 1), (100, 33), (7, 5), (10, 10), (10, 0)] {
            let sockets = open_partly_active(count, active).unwrap();
            let watch = |&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut list: Vec<libc::pollfd> = sockets.fds.iter().map(watch).collect();
            // SAFETY: the pointer and count describe `list`.
            let ready = unsafe { libc::poll(list.as_mut_ptr(), count as libc::nfds_t, 0) };
            assert_eq!(ready, active as libc::c_int, "of {count}");
        }
    }

    #[test]
    fn more_than_the_limit_is_unsupported() {
        let refused = allow_descriptors(usize::MAX / 4);
        assert!(matches!(refused, Err(CaseError::Unsupported(_))), "{refused:?}");
    }
}
