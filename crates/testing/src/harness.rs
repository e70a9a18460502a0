//! The harness of test programs with `harness = false`: those that count children, signals, memory or descriptors of their
//! own process, fork, or start themselves anew as another process. They take the arguments of the usual harness.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed};
pub use libtest_mimic::{Completion, Trial};

/// The outcome of a test that did not panic: `()`, or a [`Completion`], by which a test says that it was ignored.
pub trait Ended {
    /// The outcome for the harness.
    fn completion(self) -> Completion;
}

impl Ended for () {
    fn completion(self) -> Completion {
        Completion::Completed
    }
}

impl Ended for Completion {
    fn completion(self) -> Completion {
        self
    }
}

/// A test, which fails by a panic.
pub fn test<E: Ended>(
    name: impl Into<String>,
    check: impl FnOnce() -> E + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || Ok::<_, Failed>(check().completion()))
}

/// A [`test`] for each function, named after it: `testing::tests![module::first, second]`, an array.
#[macro_export]
macro_rules! tests {
    ($($(#[$attribute:meta])* $test:path),* $(,)?) => {
        [$($(#[$attribute])* $crate::test(stringify!($test), $test)),*]
    };
}

/// Runs the tests one after the other on the main thread: the process has no other thread then.
pub fn alone(tests: impl IntoIterator<Item = Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, tests.into_iter().collect()).exit_code()
}

/// Runs the tests, `at_once` in parallel, or the number of the argument `--test-threads`.
pub fn together(at_once: usize, tests: impl IntoIterator<Item = Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(at_once);
    libtest_mimic::run(&arguments, tests.into_iter().collect()).exit_code()
}
