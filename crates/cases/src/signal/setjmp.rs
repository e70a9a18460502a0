use platform::jump::{SignalMask, jump_back};

use crate::{Case, Only, Param, value_of};

/// Number of jumps per call of the timed closure, which saves and restores registers once for all of them.
const JUMPS: u64 = 64;

/// Error handling by setjmp and longjmp.
pub const CASE: Case = Case {
    operation: "One sigsetjmp and one siglongjmp that returns to it, in a loop in assembly.",
    comparable_to: "libMicro's `longjmp` jumps without the signal mask, `siglongjmp` with it. On Linux setjmp is \
                    sigsetjmp without the mask.",
    only: Only::Unix("Windows has no signal mask, and its longjmp unwinds the stack"),
    core_bound: true,
    params: &[Param::new("mask", &["not-saved", "saved"])
        .meaning("whether the signal mask is stored and restored, by a system call each")],
    run: |params, round| {
        let (mask, calls) = match value_of(params, "mask")? {
            "saved" => (SignalMask::Saved, 2.0),
            _ => (SignalMask::NotSaved, 0.0),
        };
        jump_back(1, mask)?;
        round.expect_syscalls(calls);
        let arrived = std::cell::Cell::new(0);
        let handled_so_far = || arrived.get();
        super::time_handled(round, "siglongjmp", JUMPS, handled_so_far, || {
            let jumps = jump_back(JUMPS, mask).unwrap_or(0);
            arrived.set(arrived.get() + jumps);
            jumps == JUMPS
        })
    },
    ..Case::new("signal", "setjmp")
};
