use std::cell::Cell;
use std::hint::black_box;

use measure::{CaseError, Round};
use platform::thread_key::ThreadKey;

use crate::{Case, Param, value_of};

/// Number of reads in one call of the timed closure, so that its loop is a small share.
const READS: usize = 16;
/// Value that each read must return.
const VALUE: usize = 3;

/// Reading a thread-local variable.
pub const CASE: Case = Case {
    operation: "One call, through a pointer that the compiler cannot follow, of a function that \
                returns the calling thread's value of a variable, and one addition of it; 16 of \
                them in a row.",
    comparable_to: "lmbench, libMicro and the others have nothing like it. A read that is compiled \
            into its caller, as most are, saves the call: a bare load remains.",
    core_bound: true,
    params: &[Param::new("by", &["address", "key"])
        .meaning(
            "whether the variable has a constant initial value, so that its address is \
             fixed relative to the thread; is initialised at its first use, which each read \
             checks; or is found by a key (pthread_getspecific, TlsGetValue)",
        )
        .full(&["address", "checked", "key"])],
    run: |params, round| match value_of(params, "by")? {
        "address" => {
            CONSTANT.set(VALUE);
            measure(round, |()| CONSTANT.get(), ())
        }
        "checked" => {
            CHECKED.set(VALUE);
            measure(round, |()| CHECKED.get(), ())
        }
        _ => {
            let key = ThreadKey::new()?;
            key.set(VALUE)?;
            measure(round, ThreadKey::get, &key)
        }
    },
    ..Case::new("thread", "local")
};

thread_local! {
    static CONSTANT: Cell<usize> = const { Cell::new(0) };
    static CHECKED: Cell<usize> = Cell::new(unset());
}

/// An initial value that is computed when it is first needed.
fn unset() -> usize {
    black_box(0)
}

/// Times calls of `read` and checks the sum of their results.
fn measure<A: Copy>(round: &mut Round, read: fn(A) -> usize, argument: A) -> Result<(), CaseError> {
    // The compiler must not know the function: it can neither leave out nor move a call.
    let read = black_box(read);
    let (mut sum, mut calls) = (0usize, 0usize);
    round.operations_per_call(READS as u64);
    round.expect_syscalls(0.0);
    round.time(|| {
        for _ in 0..READS {
            sum = sum.wrapping_add(read(argument));
        }
        calls += 1;
    })?;
    match calls.wrapping_mul(READS * VALUE) {
        expected if expected == sum => Ok(()),
        expected => Err(CaseError::Failed(format!("the values sum up to {sum}, not {expected}"))),
    }
}

#[cfg(test)]
mod tests {
    use measure::Params;
    use measure::round::Mode;

    use super::*;
    use crate::syscall::rehearsal::order;

    #[test]
    fn a_wrong_value_is_noticed() {
        let order = order("thread/local", &Params::new(), Mode::Sample);
        let mut out = Vec::new();
        let result = measure(&mut Round::new(&order, &mut out), |()| VALUE - 1, ());
        assert!(matches!(result, Err(CaseError::Failed(_))), "{result:?}");
    }
}
