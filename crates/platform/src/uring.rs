//! Why io_uring(7) is not available.

use std::io;

use crate::CaseError;

/// The [`CaseError`] for an error of making a ring, with the remedy: `Unsupported` if the kernel lacks io_uring, or does not
/// permit it. `call` is the call that failed.
pub fn error_of(call: &str, error: &io::Error) -> CaseError {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let disabled = disabled.ok().and_then(|text| text.trim().parse().ok());
    match remedy(error.raw_os_error().unwrap_or(0), disabled) {
        Some(remedy) => CaseError::Unsupported(format!("{call}: {error}, {remedy}")),
        None => CaseError::from_io(call, error),
    }
}

/// What permits io_uring. `disabled` is kernel.io_uring_disabled, where it exists (Linux 6.6).
fn remedy(code: i32, disabled: Option<u32>) -> Option<&'static str> {
    match (code, disabled) {
        (libc::EPERM | libc::EACCES, Some(2)) => Some(
            "kernel.io_uring_disabled is 2: `sysctl kernel.io_uring_disabled=0` as root permits it",
        ),
        (libc::EPERM | libc::EACCES, Some(1)) => Some(
            "kernel.io_uring_disabled is 1: it is for CAP_SYS_ADMIN and the group kernel.io_uring_group; \
             `sysctl kernel.io_uring_disabled=0` as root permits it to all",
        ),
        (libc::EPERM | libc::EACCES, _) => Some(
            "denied by a seccomp filter, as that of Docker's default profile: start the container with a profile that \
             permits io_uring, or with `--security-opt seccomp=unconfined`",
        ),
        (libc::ENOSYS, _) => {
            Some("the kernel lacks it (Linux 5.1, CONFIG_IO_URING), or a seccomp filter hides it")
        }
        (libc::ENOMEM, _) => Some(
            "before Linux 5.12 rings count as locked memory: `ulimit -l unlimited` as root permits more",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_lack_it_has_its_remedy() {
        for (code, disabled, words) in [
            (libc::EPERM, None, "seccomp"),
            (libc::EPERM, Some(0), "seccomp"),
            (libc::EPERM, Some(1), "kernel.io_uring_group"),
            (libc::EPERM, Some(2), "kernel.io_uring_disabled=0"),
            (libc::ENOSYS, None, "CONFIG_IO_URING"),
            (libc::ENOMEM, Some(0), "ulimit -l"),
        ] {
            let remedy = remedy(code, disabled).unwrap_or_else(|| panic!("{code} {disabled:?}"));
            assert!(remedy.contains(words), "{code} {disabled:?}: {remedy}");
        }
        assert_eq!(remedy(libc::EMFILE, None), None);
        let error = error_of("io_uring_setup", &io::Error::from_raw_os_error(libc::EPERM));
        let CaseError::Unsupported(text) = error else { panic!("{error:?}") };
        assert!(text.starts_with("io_uring_setup: Operation not permitted"), "{text}");
    }
}
