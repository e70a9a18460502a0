use super::{OTHERS_IF_FULL, size};
use crate::{Case, Only, only};

/// Moving pages to another address.
pub const CASE: Case = Case {
    operation: "One mremap that moves memory, whose pages all exist, to another address (MREMAP_MAYMOVE, MREMAP_FIXED \
                and MREMAP_DONTUNMAP), and a write to its first byte there.",
    comparable_to: "realloc(3) of a large block does this instead of copying. The pages are moved by their entries in \
                    the page tables, and the TLBs of all CPUs that run a thread of the process are flushed.",
    only: Only::Linux("exists only on Linux"),
    params: &[size(&["4k"], &["4k", "64k", "1m", "16m", "256m"]), OTHERS_IF_FULL],
    run,
    ..Case::new("memory", "mremap")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use platform::memory::{Pages, Region};

    use super::{Other, bytes_of};

    let bytes = bytes_of(params, "size", round)?;
    platform::memory::require(bytes as u64)?;
    // Pages move between two regions: an unmapped address could be taken by another thread.
    let regions = [Region::new(bytes, Pages::Base)?, Region::new(bytes, Pages::Base)?];
    regions[0].populate();
    let _other = Other::asked_for(params, round)?;
    let (mut at, mut moves, mut lost) = (0, 0u64, 0u64);
    // SAFETY: the address is within the region.
    unsafe { regions[0].start().cast::<u64>().write_volatile(0) };
    let mut move_once = || {
        let (from, to) = (regions[at].start(), regions[1 - at].start());
        // SAFETY: both ranges are regions of this size; what is mapped at `to` is given up.
        unsafe {
            let place = libc::mremap(
                from.cast(),
                bytes,
                bytes,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP,
                to,
            );
            if place != to.cast() {
                return false;
            }
            // The first word counts the moves, and must have moved with the page.
            lost += u64::from(to.cast::<u64>().read_volatile() != moves);
            moves += 1;
            to.cast::<u64>().write_volatile(moves);
        }
        at = 1 - at;
        true
    };
    if !move_once() {
        let error = std::io::Error::last_os_error();
        let text = format!("mremap with MREMAP_DONTUNMAP, which Linux has since 5.7: {error}");
        return Err(CaseError::Unsupported(text));
    }
    round.expect_syscalls(1.0);
    round.time_call("mremap", move_once)?;
    match lost {
        0 => Ok(()),
        n => Err(CaseError::Implausible(format!("after {n} moves the contents were others"))),
    }
}
