use measure::{CaseError, Params, Round};
use platform::memory::Region;

use crate::{Case, Only, only};

#[cfg(target_os = "linux")]
mod userfaults;

/// First read of a page that another thread supplies.
pub const CASE: Case = Case {
    operation: "One first read of a page that a second thread of this process, on the same CPU, supplies: it reads \
                the event from a userfaultfd and copies a page (UFFDIO_COPY), while the reader sleeps.",
    comparable_to: "stress-ng's `userfaultfd` does the same in a cloned process. Live migration and garbage collectors \
                    pay this for each page.",
    only: Only::Linux("exists only on Linux"),
    run,
    ..Case::new("memory", "fault-userfaultfd")
};

#[only(linux)]
fn run(_: &Params, round: &mut Round) -> Result<(), CaseError> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use platform::memory::{Pages, page_size, require};

    use super::fault_anonymous::PAGES;

    let page = page_size();
    require(((PAGES + 1) * page) as u64)?;
    // A fault on the last page ends the handler.
    let region = Region::new((PAGES + 1) * page, Pages::Base)?;
    let faults = userfaults::register(&region)?;
    let cpu = round.order().cpus.last().copied().unwrap_or(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let handler = std::thread::Builder::new()
            .spawn_scoped(scope, || userfaults::handle(faults, cpu, &stop))
            .map_err(|e| CaseError::from_io("a thread that handles faults", &e))?;
        let timed = time(round, &region);
        stop.store(true, Ordering::Release);
        // SAFETY: the address is within the region.
        std::hint::black_box(unsafe { region.start().add(PAGES * page).read_volatile() });
        let handled = handler.join();
        let panicked = |_| Err(CaseError::Failed("the thread that handles faults panicked".into()));
        timed.and(handled.unwrap_or_else(panicked))
    })
}

#[only(linux)]
fn time(round: &mut Round, region: &Region) -> Result<(), CaseError> {
    use platform::memory::page_size;

    use super::fault_anonymous::PAGES;

    let page = page_size();
    let (mut next, mut wrong, mut discarded) = (0, 0u64, Ok(()));
    round.expect_syscalls(0.0);
    round.expect_switches(1.0);
    round.expect_faults(1.0);
    round.time(|| {
        if next == PAGES {
            next = 0;
            discarded = discarded.clone().and_then(|()| region.discard());
        }
        // SAFETY: the address is within the region.
        let byte = unsafe { region.start().add(next * page).read_volatile() };
        wrong += u64::from(byte != userfaults::CONTENT);
        next += 1;
    })?;
    discarded?;
    match wrong {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{n} pages had not the contents that were supplied"))),
    }
}
