use std::hint::black_box;

use crate::Case;

/// Starting and joining a thread with Rust's standard library.
pub const CASE: Case = Case {
    operation: "One std::thread::Builder::spawn of a thread that returns a number at once, and one \
                join that gets the number; on systems whose threads inherit it, both on one CPU.",
    comparable_to: "The difference to thread/pthread-create is what Rust's standard library adds: \
            memory for the result and the handle, and on Unix a signal stack that detects the \
            overflow of the thread's own.",
    run: |_, round| {
        let mut number = 0u64;
        round.time_call("a thread", || {
            number += 1;
            let argument = black_box(number);
            let thread = std::thread::Builder::new().spawn(move || argument + 1);
            thread.is_ok_and(|thread| thread.join().is_ok_and(|result| result == number + 1))
        })
    },
    ..Case::new("thread", "std-spawn")
};
