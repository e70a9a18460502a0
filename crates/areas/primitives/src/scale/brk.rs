use super::{BY_PROCESSES, on_nothing};
use crate::{Case, only};

/// Growing and shrinking the heap of a process.
pub const CASE: Case = Case {
    operation: "Three brk system calls: one that asks where the heap ends, one that makes it 4,096 bytes longer, and one \
                that makes it as long as before.",
    comparable_to: "will-it-scale's brk1 makes the last two.",
    params: BY_PROCESSES,
    run,
    ..on_nothing("brk").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::{nothing, scale};

    // The C library's allocator also uses the heap: the heap must end where the allocator left it, and a worker must be the
    // only thread of its process.
    let ends_at = |end: libc::c_long| {
        // SAFETY: the heap grows, or returns to the length that it had just before.
        unsafe { libc::syscall(libc::SYS_brk, end) }
    };
    round.expect_syscalls(3.0);
    scale(params, round, "brk", nothing, |()| {
        let end = ends_at(0);
        end > 0 && ends_at(end + 4096) == end + 4096 && ends_at(end) == end
    })
}
