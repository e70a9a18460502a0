use measure::CaseError;
use platform::memory::{HUGE_PAGE, Pages, Region, require};

use crate::{Case, Only};

/// Number of huge pages that are touched before all are given back at once.
const COUNT: usize = 64;

/// First write to a huge page, which becomes a new page of zeros.
pub const CASE: Case = Case {
    operation: "One first write to 2 MiB of private anonymous memory for which huge pages were asked \
                (MADV_HUGEPAGE): the system takes a huge page, zeroes it and maps it. It needs \
                /sys/kernel/mm/transparent_hugepage/enabled to be madvise or always.",
    comparable_to: "512 times memory/fault-anonymous give as much memory.",
    only: Only::Linux("other systems have no advice that asks for huge pages"),
    run: |_, round| {
        require((COUNT * HUGE_PAGE) as u64)?;
        let region = Region::new(COUNT * HUGE_PAGE, Pages::Huge)?;
        region.populate();
        region.require_huge_pages()?;
        region.discard()?;
        let (mut touched, mut discarded) = (0, Ok(()));
        // No number of system calls is declared: giving the pages back is one call in 64 operations.
        round.expect_faults(1.0);
        round.time(|| {
            if touched == COUNT {
                touched = 0;
                discarded = discarded.clone().and_then(|()| region.discard());
            }
            // SAFETY: the address is within the region.
            unsafe { region.start().add(touched * HUGE_PAGE).write_volatile(1) };
            touched += 1;
        })?;
        discarded?;
        match region.huge_bytes() {
            Some(huge) if huge as usize == touched * HUGE_PAGE => Ok(()),
            _ => Err(CaseError::Interrupted(
                "the system ran out of huge pages meanwhile and used others".into(),
            )),
        }
    },
    ..Case::new("memory", "fault-huge")
};
