//! Descriptors to watch that never become ready.

use measure::CaseError;
use platform::on_unix;

use crate::{Param, Takes};

/// The number of descriptors that a case watches.
pub const FDS: Param = Param {
    name: "fds",
    meaning: "the number of descriptors watched",
    default: &["10", "100", "500"],
    full: &["1", "10", "100", "500", "1000"],
    takes: Takes::Count(1 << 20),
};

/// Sockets that stay silent, closed when dropped.
pub struct IdleSockets {
    /// Their descriptors.
    pub fds: Vec<i32>,
    _sockets: Box<dyn std::any::Any>,
}

/// Opens `count` Unix-domain datagram sockets that receive nothing: each takes one descriptor, which is
/// never ready for reading. Every Unix-like system has them.
///
/// # Errors
/// `Unsupported` if the limit on descriptors is too low.
pub fn open(count: usize) -> Result<IdleSockets, CaseError> {
    on_unix!(count, {
        use std::os::fd::AsRawFd;
        use std::os::unix::net::UnixDatagram;

        /// The most other descriptors that the program has open.
        const BESIDES: usize = 20;

        allow_descriptors(count + BESIDES)?;
        let opened: Result<Vec<_>, _> = (0..count).map(|_| UnixDatagram::unbound()).collect();
        let sockets = opened.map_err(|e| CaseError::from_io("an idle socket", &e))?;
        let fds = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        Ok(IdleSockets { fds, _sockets: Box::new(sockets) })
    })
}

/// Raises this process's limit on open descriptors to at least `count`.
///
/// # Errors
/// `Unsupported` if the hard limit is lower.
pub fn allow_descriptors(count: usize) -> Result<(), CaseError> {
    on_unix!(count, {
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
                let reason = format!(
                    "needs {needed} descriptors, and the hard limit is {most} (ulimit -Hn)"
                );
                return Err(CaseError::Unsupported(reason));
            }
            limit.rlim_cur = needed;
            match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                0 => Ok(()),
                _ => Err(CaseError::last_os_error("setrlimit")),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_unsupported() {
        let refused = allow_descriptors(usize::MAX / 4);
        assert!(matches!(refused, Err(CaseError::Unsupported(_))), "{refused:?}");
    }
}
