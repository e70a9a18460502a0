use std::io;

use serde::{Deserialize, Serialize};

use crate::IS_WINDOWS;

/// Why a case has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "reason")]
pub enum CaseError {
    /// The system does not support the case, or does not permit it.
    #[error("{0}")]
    Unsupported(String),
    /// The case failed.
    #[error("{0}")]
    Failed(String),
    /// The case was interrupted, for instance by a signal to one of its processes: it can be retried.
    #[error("{0}")]
    Interrupted(String),
    /// The case has a result that cannot be correct.
    #[error("{0}")]
    Implausible(String),
    /// The case did not end within its time limit.
    #[error("{0}")]
    TimedOut(String),
}

impl CaseError {
    /// The [`CaseError`] for the calling thread's last system error; `what` names what was tried.
    pub fn last_os_error(what: &str) -> Self {
        Self::from_io(what, &io::Error::last_os_error())
    }

    /// The [`CaseError`] for `error`: `Unsupported` for a call that the system does not have, does not permit or does not permit so
    /// often, with the name of the limit; else `Failed`.
    pub fn from_io(what: &str, error: &io::Error) -> Self {
        let text = format!("{what}: {error}");
        if let Some(limit) = limit_of(what, error) {
            return Self::Unsupported(format!("{text}: {limit}"));
        }
        match error.kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => Self::Unsupported(text),
            _ if not_implemented(error) => Self::Unsupported(text),
            _ => Self::Failed(text),
        }
    }
}

/// The error of a thread or process that cannot be created, with its likely cause.
pub fn not_created(what: &str, error: &io::Error) -> CaseError {
    let cause = match error.kind() {
        _ if IS_WINDOWS => "",
        io::ErrorKind::WouldBlock => {
            " (a limit of processes: `ulimit -u`, or pids.max of the control group)"
        }
        io::ErrorKind::OutOfMemory => {
            " (a limit of memory: `ulimit -v`, or memory.max of the control group)"
        }
        io::ErrorKind::PermissionDenied => {
            " (a seccomp filter denies clone3, as in containers of Docker before 20.10.10)"
        }
        _ => "",
    };
    let reason = format!("{what} cannot be created: {error}{cause}");
    match error.kind() {
        io::ErrorKind::PermissionDenied => CaseError::Unsupported(reason),
        _ => CaseError::Failed(reason),
    }
}

impl From<io::Error> for CaseError {
    fn from(error: io::Error) -> Self {
        Self::from_io("system call", &error)
    }
}

/// The limit that makes a call fail in this way, with the command that shows it: the error itself names none.
#[cfg(unix)]
fn limit_of(what: &str, error: &io::Error) -> Option<&'static str> {
    let (call, code) = (what.split(' ').next(), error.raw_os_error()?);
    let of_call = LIMITS.iter().find(|(of, errors, _)| call == Some(of) && errors.contains(&code));
    of_call.map(|(.., limit)| *limit).or(match code {
        libc::EMFILE => Some("the limit of open descriptors, `ulimit -n`"),
        libc::ENFILE => Some("the system's limit of open files, fs.file-max"),
        _ => None,
    })
}

#[cfg(windows)]
fn limit_of(_what: &str, _error: &io::Error) -> Option<&'static str> {
    None
}

/// Limits of resources other than descriptors: the call, its errors according to its manual page, and the limit.
#[cfg(unix)]
const LIMITS: &[(&str, &[i32], &str)] = {
    const SIGNALS: &str = "the limit of pending signals, `ulimit -i`";
    const LOCKED: &str = "the limit of locked memory, `ulimit -l`";
    const TASKS: &str = "a limit of processes: `ulimit -u`, or pids.max of the control group";
    &[
        ("sigqueue", &[libc::EAGAIN], SIGNALS),
        ("timer_create", &[libc::EAGAIN], SIGNALS),
        ("mlock", &[libc::EAGAIN, libc::ENOMEM, libc::EPERM], LOCKED),
        ("io_uring_setup", &[libc::ENOMEM], LOCKED),
        ("mq_open", &[libc::EMFILE], "the limit of message queues, `ulimit -q`"),
        ("mq_open", &[libc::ENOSPC], "the system's limit of message queues, fs.mqueue.queues_max"),
        ("semget", &[libc::ENOSPC], "the system's limit of semaphores, kernel.sem"),
        ("msgget", &[libc::ENOSPC], "the system's limit of message queues, kernel.msgmni"),
        (
            "shmget",
            &[libc::ENOSPC],
            "the system's limit of shared memory, kernel.shmmni or kernel.shmall",
        ),
        ("inotify_init1", &[libc::EMFILE], "fs.inotify.max_user_instances, or `ulimit -n`"),
        ("inotify_add_watch", &[libc::ENOSPC], "fs.inotify.max_user_watches"),
        ("F_SETPIPE_SZ", &[libc::EPERM], "fs.pipe-max-size, or fs.pipe-user-pages-soft"),
        ("fork", &[libc::EAGAIN], TASKS),
        ("clone", &[libc::EAGAIN], TASKS),
        ("clone3", &[libc::EAGAIN], TASKS),
        ("vfork", &[libc::EAGAIN], TASKS),
        ("posix_spawn", &[libc::EAGAIN], TASKS),
    ]
};

#[cfg(unix)]
fn not_implemented(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM))
}

#[cfg(windows)]
fn not_implemented(error: &io::Error) -> bool {
    use windows_sys::Win32::Foundation::{ERROR_CALL_NOT_IMPLEMENTED, ERROR_NOT_SUPPORTED};
    matches!(error.raw_os_error(), Some(e) if e as u32 == ERROR_CALL_NOT_IMPLEMENTED || e as u32 == ERROR_NOT_SUPPORTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_limit_that_denies_a_call_is_named() {
        let of = |call: &str, code: i32| {
            CaseError::from_io(call, &io::Error::from_raw_os_error(code)).to_string()
        };
        assert!(
            of("sigqueue", libc::EAGAIN).ends_with(": the limit of pending signals, `ulimit -i`")
        );
        assert!(of("timer_create", libc::EAGAIN).contains("`ulimit -i`"));
        assert!(of("mq_open", libc::EMFILE).contains("`ulimit -q`"));
        assert!(of("pipe", libc::EMFILE).contains("`ulimit -n`"));
        assert!(of("vfork and execve", libc::EAGAIN).contains("`ulimit -u`"));
        let other = CaseError::from_io("read", &io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(matches!(other, CaseError::Failed(_)), "{other:?}");
    }

    #[test]
    fn a_missing_call_is_unsupported_and_a_broken_one_failed() {
        let missing = CaseError::from_io("mq_open", &io::Error::from(io::ErrorKind::Unsupported));
        assert_eq!(missing, CaseError::Unsupported("mq_open: unsupported".into()));
        let denied = CaseError::from_io("perf", &io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(matches!(denied, CaseError::Unsupported(_)));
        let broken = CaseError::from_io("read", &io::Error::from(io::ErrorKind::UnexpectedEof));
        assert!(matches!(broken, CaseError::Failed(text) if text.starts_with("read: ")));
    }
}
