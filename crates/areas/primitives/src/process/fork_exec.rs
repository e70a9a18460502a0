use super::common::PROGRAM;
use crate::{Case, Only, only};

/// Starting a program by fork and exec.
pub const CASE: Case = Case {
    operation: "One fork whose child executes a program with execve, which ends at once, and one \
                waitpid that returns its exit code; parent and child on one CPU.",
    comparable_to: "lmbench's `lat_proc exec` executes a program that is linked with the C library \
            and prints a line, `perf bench syscall execve` executes `true`: both are program=true \
            here, unpinned. UnixBench's `execl` replaces a process by a program without a fork.",
    only: Only::Unix("Windows has no fork; see process/create-process"),
    params: &[PROGRAM],
    run,
    ..Case::new("process", "fork-exec")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::process::program::{Program, reap};

    let program = match crate::value_of(params, "program")? {
        "static" => Program::tiny()?,
        _ => Program::installed_true()?,
    };
    super::time(round, "fork and execve", program.exit_code(), || {
        // SAFETY: the child makes only async-signal-safe calls.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()),
            // SAFETY: the memory is the child's own copy.
            0 => unsafe { program.execute() },
            pid => reap(pid),
        }
    })
}
