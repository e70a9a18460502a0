use crate::{Case, Only, only};

/// Forking a child that ends at once.
pub const CASE: Case = Case {
    operation: "One fork whose child ends at once with _exit, and one waitpid that returns its \
                exit code; parent and child on one CPU.",
    comparable_to: "lmbench's `lat_proc fork`, `perf bench syscall fork` and UnixBench's `spawn` \
            do the same, unpinned, so that parent and child may run on two CPUs, and end the child \
            with exit; osbench's create_processes forks 100 children before it waits for the \
            first; libMicro's `fork` leaves out the wait.",
    only: Only::Unix("Windows has no fork; see process/create-process"),
    run,
    ..Case::new("process", "fork")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::process::program::reap;

    use super::common::EXIT_CODE;

    super::time(round, "fork", EXIT_CODE, || {
        // SAFETY: the child ends at once, by an async-signal-safe call.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()),
            // SAFETY: ends the child and runs nothing of the parent's.
            0 => unsafe { libc::_exit(EXIT_CODE) },
            pid => reap(pid),
        }
    })
}
