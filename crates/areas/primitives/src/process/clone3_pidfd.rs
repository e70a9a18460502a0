use crate::{Case, Only, only};

/// Creating and reaping a child by its descriptor.
pub const CASE: Case = Case {
    operation: "One clone3 with CLONE_PIDFD whose child, a copy as by fork, ends at once with \
                _exit, one waitid(P_PIDFD) that returns its exit code, and one close of the \
                descriptor; parent and child on one CPU.",
    comparable_to: "The difference to process/fork is the descriptor, less what the C library's \
            fork does before and after.",
    only: Only::Linux("exists only on Linux"),
    run,
    ..Case::new("process", "clone3-pidfd")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;

    use super::common::EXIT_CODE;

    /// Size of the arguments in bytes in the first kernel with clone3.
    const ARGUMENTS_BYTES: usize = 64;

    round.expect_syscalls(3.0);
    super::time(round, "clone3", EXIT_CODE, || {
        let mut pidfd: libc::c_int = -1;
        // SAFETY: all-zero arguments are valid; the pid's place outlives the call. The child ends at once, by an
        // async-signal-safe call. `info` is valid for the kernel to fill, and of a child that has ended.
        unsafe {
            let mut arguments: libc::clone_args = std::mem::zeroed();
            arguments.flags = libc::CLONE_PIDFD as u64;
            arguments.pidfd = (&raw mut pidfd).addr() as u64;
            arguments.exit_signal = libc::SIGCHLD as u64;
            match libc::syscall(libc::SYS_clone3, &raw mut arguments, ARGUMENTS_BYTES) {
                -1 => return Err(io::Error::last_os_error()),
                0 => libc::_exit(EXIT_CODE),
                _ => {}
            }
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let waited = libc::waitid(libc::P_PIDFD, pidfd as libc::id_t, &mut info, libc::WEXITED);
            let error = io::Error::last_os_error();
            let closed = libc::close(pidfd);
            match (waited, info.si_code, closed) {
                (0, libc::CLD_EXITED, 0) => Ok(info.si_status()),
                (0, code, 0) => Err(io::Error::other(format!("the child ended with {code}"))),
                (0, _, _) => Err(io::Error::last_os_error()),
                _ => Err(error),
            }
        }
    })
}
