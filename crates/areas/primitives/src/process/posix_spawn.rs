use super::common::PROGRAM;
use crate::{Case, Only, only};

/// Starting a program with posix_spawn.
pub const CASE: Case = Case {
    operation: "One posix_spawn without attributes and actions of a program that ends at once, and \
                one waitpid that returns its exit code; parent and child on one CPU.",
    comparable_to: "The same program as process/fork-exec and process/vfork-exec. glibc and musl \
            share the memory with the child until it executes the program, as vfork does.",
    only: Only::Unix("Windows has no posix_spawn; see process/create-process"),
    params: &[PROGRAM],
    run,
    ..Case::new("process", "posix-spawn")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::process::program::{Program, reap};

    let program = match crate::value_of(params, "program")? {
        "static" => Program::tiny()?,
        _ => Program::installed_true()?,
    };
    super::time(round, "posix_spawn", program.exit_code(), || program.spawn().and_then(reap))
}
