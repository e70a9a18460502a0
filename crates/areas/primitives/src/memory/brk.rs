use super::size;
use crate::{Case, Only, only};

/// Moving the heap's end.
pub const CASE: Case = Case {
    operation: "One brk that moves the end of the heap up, a write to each new page, and one brk back.",
    comparable_to: "will-it-scale's `brk1` moves the end by a page and writes nothing. glibc's malloc grows the heap in this \
                    way.",
    only: Only::Linux("other systems have no such call, or have deprecated it"),
    params: &[size(&["4k"], &["4k", "64k", "1m"])],
    run,
    ..Case::new("memory", "brk")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::bytes_of;

    let bytes = bytes_of(params, "size", round)?;
    platform::memory::require(bytes as u64)?;
    let page = platform::memory::page_size();
    // SAFETY: for an invalid address the call returns the present end.
    let brk = |end: usize| unsafe { libc::syscall(libc::SYS_brk, end) as usize };
    let end = brk(0);
    round.expect_syscalls(2.0);
    round.expect_faults((bytes / page) as f64);
    // The worker has one thread, so that nothing else uses the heap's end meanwhile.
    round.time_call("brk", || {
        if brk(end + bytes) != end + bytes {
            return false;
        }
        for at in (0..bytes).step_by(page) {
            // SAFETY: the address is between the old end and the new one.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(end + at).write_volatile(1) };
        }
        brk(end) == end
    })
}
