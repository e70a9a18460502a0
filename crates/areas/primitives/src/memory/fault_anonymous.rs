use measure::{CaseError, Round};
use platform::memory::{Pages, Region, page_size, require};

use crate::{Case, Only, only};

/// Number of pages that are touched before all are given back at once, which affects few samples of a round, if any.
pub const PAGES: usize = 16_384;

/// First write to a page, which becomes a new page of zeros.
pub const WRITE: Case = Case {
    operation: "One first write to a page of private anonymous memory: the system takes a page, zeroes it and maps \
                it. Of 64 MiB, which is more than most rounds touch: pages that a process has just given back \
                are still in a cache, and take less. The memory is not given back on the clock.",
    comparable_to: "will-it-scale's `page_fault1` also unmaps the memory, on the clock; stress-ng's `fault` maps and \
                    unmaps a file for each.",
    run: |_, round| {
        time(round, |page| {
            // SAFETY: the caller passes a page of a writable region.
            unsafe { page.write_volatile(1) };
        })
    },
    ..Case::new("memory", "fault-anonymous")
};

/// First read of a page, which maps the shared page of zeros.
pub const READ: Case = Case {
    name: "fault-zero-page",
    operation: "One first read of a page of private anonymous memory: the system maps a page of zeros that all \
                processes share.",
    comparable_to: "The difference to memory/fault-anonymous is taking a page and zeroing it.",
    only: Only::Linux("only Linux is known to have a shared page of zeros"),
    run: run_read,
    ..WRITE
};

#[only(linux)]
fn run_read(_: &measure::Params, round: &mut Round) -> Result<(), CaseError> {
    time(round, |page| {
        // SAFETY: the caller passes a page of a readable region.
        std::hint::black_box(unsafe { page.read_volatile() });
    })
}

/// Times `touch` on pages that were never touched before.
fn time(round: &mut Round, touch: impl Fn(*mut u8)) -> Result<(), CaseError> {
    let page = page_size();
    require((PAGES * page) as u64)?;
    let region = Region::new(PAGES * page, Pages::Base)?;
    let (mut next, mut discarded) = (0, Ok(()));
    round.expect_syscalls(0.0);
    round.expect_faults(1.0);
    round.time(|| {
        if next == PAGES {
            next = 0;
            discarded = discarded.clone().and_then(|()| region.discard());
        }
        touch(region.start().wrapping_add(next * page));
        next += 1;
    })?;
    discarded
}

#[cfg(test)]
mod tests {
    use measure::Params;
    use measure::round::Mode;

    use super::*;

    #[test]
    fn a_page_that_was_touched_before_is_no_fault() {
        let order = rehearsal::order("test/x", &Params::new(), Mode::CountRest);
        let first = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut::<u8>());
        let touch = |page: *mut u8| {
            use std::sync::atomic::Ordering::Relaxed;
            let _ = first.compare_exchange(std::ptr::null_mut(), page, Relaxed, Relaxed);
            // SAFETY: `first` is the first page of the region, which lives as long as the round.
            unsafe { first.load(Relaxed).write_volatile(1) };
        };
        let (lines, result) = rehearsal::round(&order, |round| time(round, touch));
        assert_eq!(result, Ok(()));
        let counts = rehearsal::counts(&lines);
        if let Some(expected) = counts.expected_faults {
            let counted = counts.page_faults.unwrap() as f64 / counts.operations as f64;
            assert!(counted < expected * 0.5, "{counted} instead of {expected}");
        }
    }
}
