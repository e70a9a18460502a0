use std::io;

use serde::{Deserialize, Serialize};

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

    /// The [`CaseError`] for `error`: `Unsupported` for a call that the system does not have or does not permit, else
    /// `Failed`.
    pub fn from_io(what: &str, error: &io::Error) -> Self {
        let text = format!("{what}: {error}");
        match error.kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => Self::Unsupported(text),
            _ if not_implemented(error) => Self::Unsupported(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<io::Error> for CaseError {
    fn from(error: io::Error) -> Self {
        Self::from_io("system call", &error)
    }
}

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
    fn a_missing_call_is_unsupported_and_a_broken_one_failed() {
        let missing = CaseError::from_io("mq_open", &io::Error::from(io::ErrorKind::Unsupported));
        assert_eq!(missing, CaseError::Unsupported("mq_open: unsupported".into()));
        let denied = CaseError::from_io("perf", &io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(matches!(denied, CaseError::Unsupported(_)));
        let broken = CaseError::from_io("read", &io::Error::from(io::ErrorKind::UnexpectedEof));
        assert!(matches!(broken, CaseError::Failed(text) if text.starts_with("read: ")));
    }
}
