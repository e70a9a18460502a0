use super::{OTHERS_IF_FULL, size};
use crate::{Case, Only, only};

/// Giving pages back while keeping the addresses.
pub const CASE: Case = Case {
    operation: "A write to each page of memory, each of which is a page fault, and one madvise(MADV_DONTNEED) that gives \
                all of them back.",
    comparable_to: "Allocators return memory in this way. Without the faults of memory/fault-anonymous, it is what \
                    freeing the pages and flushing the TLBs take.",
    only: Only::Linux("elsewhere the advice is only a hint"),
    params: &[size(&["4k"], &["4k", "64k", "1m", "16m", "256m"]), OTHERS_IF_FULL],
    run,
    ..Case::new("memory", "madvise")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::{Other, bytes_of, populated};

    let bytes = bytes_of(params, "size", round)?;
    let region = populated(bytes)?;
    let _other = Other::asked_for(params, round)?;
    let (start, page) = (region.start(), platform::memory::page_size());
    // SAFETY: the first byte of the region, which only this thread uses.
    let first = unsafe { std::sync::atomic::AtomicU8::from_ptr(start) };
    round.expect_syscalls(1.0);
    round.expect_faults(bytes.div_ceil(page) as f64);
    round.time_call("madvise", || {
        // One access reads and writes: a zero shows that the previous operation gave the page back.
        let is_new = first.swap(1, std::sync::atomic::Ordering::Relaxed) == 0;
        // SAFETY: the range is the region, whose contents no code relies on.
        unsafe {
            for at in (page..bytes).step_by(page) {
                start.add(at).write_volatile(1);
            }
            libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) == 0 && is_new
        }
    })
}
