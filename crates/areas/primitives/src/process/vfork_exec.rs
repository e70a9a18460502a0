use super::common::PROGRAM;
use crate::{Case, Only, only};

/// Starting a program with vfork, which does not copy the address space.
pub const CASE: Case = Case {
    operation: "One clone with CLONE_VM and CLONE_VFORK, as vfork(2) makes it, but with a stack of \
                its own for the child, which executes a program with execve that ends at once; and \
                one waitpid that returns its exit code; parent and child on one CPU.",
    comparable_to: "The difference to process/fork-exec is the copy of the address space; the \
            difference to process/posix-spawn is what the C library does for signals and its \
            stack.",
    only: Only::Linux("measured on Linux only; see process/posix-spawn"),
    params: &[PROGRAM],
    run,
    ..Case::new("process", "vfork-exec")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use platform::process::program::{ChildStack, Program, reap};

    let program = match crate::value_of(params, "program")? {
        "static" => Program::tiny()?,
        _ => Program::installed_true()?,
    };
    let mut stack = ChildStack::new();
    round.expect_syscalls(2.0);
    super::time(round, "vfork and execve", program.exit_code(), || {
        stack.start(&program).and_then(reap)
    })
}
