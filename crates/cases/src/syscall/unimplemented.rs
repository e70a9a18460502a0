use platform::on_linux;

use crate::{Case, Only};

/// The way into the kernel and back, with nothing called there.
pub const CASE: Case = Case {
    area: "syscall",
    name: "unimplemented",
    operation: "One system call of a number that no kernel has given out (65,535), refused with \
                ENOSYS.",
    comparable_to: "libMicro and lmbench have none; getppid less this is what a real function adds.",
    only: Only::Linux("elsewhere an unknown system call ends the process with SIGSYS"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            // SAFETY: the kernel looks at nothing but the number.
            let call = || unsafe { libc::syscall(65_535) } == -1;
            call();
            let refused = std::io::Error::last_os_error();
            if refused.raw_os_error() != Some(libc::ENOSYS) {
                let reason = format!("an unknown system call gives not ENOSYS but: {refused}");
                return Err(measure::CaseError::Unsupported(reason));
            }
            round.expect_syscalls(1.0);
            super::time(round, "system call 65535", call)
        })
    },
};
