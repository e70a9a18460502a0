use super::on_an_object;
use crate::{Case, only};

/// Waking no thread: all futexes share the table of waiting threads.
pub const CASE: Case = Case {
    operation: "One FUTEX_WAKE for a word that nobody waits for; private to the process if workers are threads.",
    comparable_to: "will-it-scale's futex1 to futex4 make calls that return at once; `perf bench futex hash` waits for a \
                    word that has another value.",
    core_bound: true,
    run,
    ..on_an_object("futex-wake").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::sync::atomic::AtomicU32;

    use platform::memory::shared::Shared;

    let processes = crate::value_of(params, "as")? == "processes";
    let call = libc::FUTEX_WAKE | if processes { 0 } else { libc::FUTEX_PRIVATE_FLAG };
    round.expect_syscalls(1.0);
    let make = |_| Shared::new(AtomicU32::new(0));
    scale(params, round, "futex", make, |word| {
        // SAFETY: the word is aligned and lives as long as the process.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), call, 1) == 0 }
    })
}
