//! Resident memory: each of its pages was written.

use measure::CaseError;
use platform::memory::{Pages, Region};

/// Memory that a measurement must leave free, in bytes.
const MARGIN: u64 = 256 << 20;
/// The smallest page size of any system.
const LEAST_PAGE: usize = 4096;

/// Maps and writes `bytes` of memory in the given kind of pages, and verifies their residency and kind where the system
/// reports it.
///
/// `Unsupported` if the memory is not free, not resident, or not in the requested kind of pages.
pub fn allocate(bytes: usize, pages: Pages) -> Result<Region, CaseError> {
    require_free(bytes as u64, platform::memory::available())?;
    let memory = Region::new(bytes, pages)?;
    for at in (0..bytes).step_by(LEAST_PAGE) {
        // SAFETY: within the region, which has that many bytes.
        unsafe { memory.start().add(at).write_volatile(1) };
    }
    if os::verify(memory.start(), bytes, pages).is_err() {
        os::collapse(memory.start(), bytes, pages);
        os::verify(memory.start(), bytes, pages)?;
    }
    Ok(memory)
}

/// Checks that 9/8 of `bytes` and the margin are free, where the system reports it.
fn require_free(bytes: u64, free: Option<u64>) -> Result<(), CaseError> {
    let needed = bytes.saturating_add(bytes / 8).saturating_add(MARGIN);
    match free {
        Some(free) if free < needed => {
            let [needed, free] = [needed, free].map(|bytes| bytes >> 20);
            let reason = format!("needs {needed} MiB of free memory, {free} MiB are free");
            Err(CaseError::Unsupported(reason))
        }
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
mod os {
    use measure::CaseError;
    use platform::memory::smaps::Resident;

    use super::Pages;

    /// Has the kernel move base pages into huge pages and make room for them, where a page fault may give up sooner. Linux
    /// before 6.1 cannot.
    pub fn collapse(start: *mut u8, bytes: usize, pages: Pages) {
        const MADV_COLLAPSE: libc::c_int = 25;
        if pages == Pages::Huge {
            // SAFETY: the range lies within a mapping of the caller's, whose contents stay the same.
            unsafe { libc::madvise(start.cast(), bytes, MADV_COLLAPSE) };
        }
    }

    pub fn verify(start: *mut u8, bytes: usize, pages: Pages) -> Result<(), CaseError> {
        let Some(resident) = Resident::at(start) else {
            let reason = "the system does not report which pages are huge";
            return match pages {
                Pages::Base => Ok(()),
                Pages::Huge => Err(CaseError::Unsupported(reason.into())),
            };
        };
        verify_resident(resident, bytes as u64, pages)
    }

    pub fn verify_resident(resident: Resident, bytes: u64, pages: Pages) -> Result<(), CaseError> {
        let [wanted, all, huge] = [bytes, resident.all, resident.huge].map(|bytes| bytes >> 20);
        if resident.all < bytes {
            let reason = format!("{all} of {wanted} MiB are resident");
            return Err(CaseError::Unsupported(reason));
        }
        // The kernel may lack a few huge pages at the edges, so a few base pages are accepted.
        match pages {
            Pages::Huge if resident.huge < bytes - bytes / 16 => Err(CaseError::Unsupported(
                format!("{huge} of {wanted} MiB are in huge pages: the kernel gave no more"),
            )),
            Pages::Base if resident.huge > 0 => Err(CaseError::Unsupported(format!(
                "{huge} of {wanted} MiB are in huge pages although none were wanted"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use measure::CaseError;

    use super::Pages;

    pub fn collapse(_start: *mut u8, _bytes: usize, _pages: Pages) {}

    pub fn verify(_start: *mut u8, _bytes: usize, _pages: Pages) -> Result<(), CaseError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_free_is_unsupported() {
        assert_eq!(require_free(1 << 30, None), Ok(()));
        assert_eq!(require_free(1 << 30, Some(2 << 30)), Ok(()));
        let reason = "needs 1408 MiB of free memory, 1024 MiB are free";
        assert_eq!(
            require_free(1 << 30, Some(1 << 30)),
            Err(CaseError::Unsupported(reason.into()))
        );
        let all = allocate(usize::MAX / 4, Pages::Base);
        assert!(cfg!(not(target_os = "linux")) || matches!(all, Err(CaseError::Unsupported(_))));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn each_page_is_resident_in_the_size_asked_for() {
        const BYTES: usize = 8 << 20;
        for pages in [Pages::Base, Pages::Huge] {
            let memory = match allocate(BYTES, pages) {
                Ok(memory) => memory,
                Err(CaseError::Unsupported(reason)) => {
                    println!("{pages:?}: {reason}");
                    continue;
                }
                Err(case_error) => panic!("{case_error}"),
            };
            let middle = memory.start().wrapping_add(BYTES / 2);
            let resident = platform::memory::smaps::Resident::at(middle).unwrap();
            assert!(resident.all >= BYTES as u64, "{resident:?}");
            assert_eq!(resident.huge > 0, pages == Pages::Huge, "{resident:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_half_in_huge_pages_is_of_neither_kind() {
        use platform::memory::smaps::Resident;

        let resident = Resident { all: 4 << 20, huge: 2 << 20 };
        let verify = |resident, pages| os::verify_resident(resident, 4 << 20, pages).is_ok();
        assert!(!verify(resident, Pages::Huge) && !verify(resident, Pages::Base));
        // Base pages only are accepted.
        assert!(verify(Resident { huge: 0, ..resident }, Pages::Base));
        assert!(verify(Resident { huge: 4 << 20, ..resident }, Pages::Huge));
        assert!(!verify(Resident { all: 3 << 20, huge: 0 }, Pages::Base));
    }
}
