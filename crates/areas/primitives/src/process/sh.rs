use crate::{Case, Only, only};

/// Starting a program through the shell, as system(3) and scripts do.
pub const CASE: Case = Case {
    operation: "One posix_spawn of `/bin/sh -c true` with an empty environment, and one waitpid \
                that returns its exit code; `true` is a command of the shell's own; parent and \
                child on one CPU.",
    comparable_to: "lmbench's `lat_proc shell` has the shell start a program, so that it forks \
            once more; UnixBench's `shell1` runs a script of several programs.",
    only: Only::Unix("Windows has no /bin/sh; see process/create-process, which starts cmd"),
    run,
    ..Case::new("process", "sh")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::process::program::{Program, reap};

    let shell = Program::installed(&[c"/bin/sh"], &[c"-c", c"true"])?;
    super::time(round, "posix_spawn of /bin/sh", 0, || shell.spawn().and_then(reap))
}
