use measure::Params;

use crate::{Case, Extent, Only, Param, Takes, count_of, only};

/// Asking for children that have ended, when none has.
pub const CASE: Case = Case {
    operation: "One waitpid with WNOHANG for any child of a process whose children all live and \
                sleep: it returns 0.",
    comparable_to: "lmbench and the others have nothing like it. A server that reaps its children \
            by SIGCHLD makes this call once more for each signal than a child has ended; the \
            kernel looks at each child.",
    only: Only::Unix("Windows waits for handles, 64 at a time: see syscall/wait-0"),
    // The kernel's data of a thousand children exceed the first-level cache.
    core_bound: false,
    params: &[Param::new("children", &["1", "1000"])
        .meaning("how many children live")
        .full(&["1", "10", "100", "1000"])
        .takes(Takes::Count(CHILDREN_AT_MOST))],
    run,
    ..Case::new("process", "wait")
};

#[only(unix)]
fn run(params: &Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    use super::sleeping_children::SleepingChildren;

    let count = count_of(params, "children")?;
    let children = SleepingChildren::start(count)?;
    round.expect_syscalls(1.0);
    // SAFETY: a null pointer for the status is allowed.
    round.time_call("waitpid", || unsafe {
        libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) == 0
    })?;
    match children.end() {
        lived if lived == count => Ok(()),
        lived => Err(CaseError::Interrupted(format!("{lived} of {count} children lived"))),
    }
}

/// Maximum number of children: many systems allow no more processes.
const CHILDREN_AT_MOST: u64 = 10_000;

/// Whether a run measures the point: a quick run leaves out points that start more than a few children in each round.
pub fn includes(params: &Params, extent: Extent) -> bool {
    const FEW: usize = 10;
    let is_many = params.contains_key("children")
        && count_of(params, "children").is_ok_and(|children| children > FEW);
    extent != Extent::Quick || !is_many
}
