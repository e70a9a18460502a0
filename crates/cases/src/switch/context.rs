use measure::{CaseError, Round};
use platform::context::SecondContext;

use crate::{Case, Only};

/// Switching stacks without the scheduler, by swapcontext.
pub const SWAPCONTEXT: Case = Case {
    operation: "One swapcontext of glibc to another context of the same thread, which includes one system call for the \
                signal mask. Half of the way there and back.",
    comparable_to: "stress-ng's `context` stressor makes the same calls among three contexts.",
    only: Only::Linux("measured on Linux only; Windows has switch/fiber"),
    core_bound: true,
    run: |_, round| {
        round.expect_syscalls(1.0);
        run(round)
    },
    ..Case::new("switch", "swapcontext")
};

/// Switching stacks without the scheduler, by fibers of Windows.
pub const FIBER: Case = Case {
    name: "fiber",
    operation: "One SwitchToFiber to another fiber of the same thread. Half of the way there and back.",
    comparable_to: "The counterpart of switch/swapcontext, without a system call.",
    run: |_, round| run(round),
    ..SWAPCONTEXT.on_windows()
};

fn run(round: &mut Round) -> Result<(), CaseError> {
    let mut second = SecondContext::new()?;
    round.operations_per_call(2);
    let mut failures = 0u64;
    round.time(|| {
        let before = second.entered();
        failures += u64::from(!(second.enter() && second.entered() == before + 1));
    })?;
    match failures {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{n} switches did not happen"))),
    }
}
