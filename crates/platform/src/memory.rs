//! Memory from the system: regions of whole pages, what backs them, and how much is available.

pub mod address_wait;
pub mod allocator;
pub mod pages;
pub mod shared;
#[cfg(target_os = "linux")]
pub mod smaps;

use std::ptr::NonNull;

use crate::CaseError;

/// The usual size of a huge page, and the alignment of every [`Region`].
pub const HUGE_PAGE: usize = 2 << 20;

/// Memory that a measurement must leave free, in bytes.
const RESERVE: u64 = 64 << 20;

/// The pages that back a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Pages of the usual size, also where the system prefers huge ones, if it can be asked not to.
    Base,
    /// Huge pages.
    Huge,
}

/// Bytes of a page of the usual size.
pub use os::page_size;

/// The memory that this process can use without swapping, in bytes: the minimum of what the system reports and what its
/// control groups leave; `None` where it is unknown.
pub use os::available;

/// Checks that `bytes` of memory can be used.
///
/// # Errors
/// `Unsupported` if less is available.
pub fn require(bytes: u64) -> Result<(), CaseError> {
    match available() {
        Some(available) if bytes.saturating_add(RESERVE) > available => {
            let in_mib = |bytes: u64| bytes.div_ceil(1 << 20);
            Err(CaseError::Unsupported(format!(
                "needs {} MiB of memory and {} MiB for everything else; {} MiB are available",
                in_mib(bytes),
                in_mib(RESERVE),
                available >> 20
            )))
        }
        _ => Ok(()),
    }
}

/// Private memory, readable and writable, aligned to a huge page; given back when dropped. A page is provided at the first
/// access to it.
#[derive(Debug)]
pub struct Region {
    mapping: NonNull<[u8]>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the region alone; all access is through raw pointers.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `bytes`, rounded up to whole pages.
    ///
    /// # Errors
    /// If the system refuses; `Unsupported` if it has no huge pages, which on Windows need a privilege that few accounts
    /// have.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, CaseError> {
        let (unit, alignment) = match pages {
            Pages::Base => (page_size(), HUGE_PAGE),
            Pages::Huge => (HUGE_PAGE, os::huge_page()),
        };
        let bytes = bytes.max(1).next_multiple_of(unit);
        let mapped = bytes + alignment;
        let mapping = os::reserve(mapped)?;
        let ahead = mapping.as_ptr().align_offset(alignment);
        // SAFETY: the mapping is longer by the alignment than what lies behind that address.
        let start = unsafe { mapping.add(ahead) };
        let mapping = NonNull::slice_from_raw_parts(mapping, mapped);
        let region = Self { mapping, start, bytes };
        os::prepare(&region, pages)?;
        Ok(region)
    }

    /// Address of the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Gives all pages back: the next access to each is a page fault, and finds zeros.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn discard(&self) -> Result<(), CaseError> {
        os::discard(self)
    }

    /// Number of bytes in huge pages; `None` where the system does not report it.
    pub fn huge_bytes(&self) -> Option<u64> {
        os::huge_bytes(self.start())
    }

    /// Writes to each page of the usual size, so that the system provides all of them.
    pub fn populate(&self) {
        for at in (0..self.len()).step_by(page_size()) {
            // SAFETY: `at` is within the region, which is writable.
            unsafe { self.start().add(at).write_volatile(0) };
        }
    }

    /// Checks, after [`Region::populate`], that huge pages back nearly all of the region.
    ///
    /// # Errors
    /// `Unsupported` if they do not, or if the system does not report it.
    pub fn require_huge_pages(&self) -> Result<(), CaseError> {
        let huge = self.huge_bytes().unwrap_or(0);
        if huge >= self.len() as u64 / 20 * 19 {
            return Ok(());
        }
        Err(CaseError::Unsupported(format!(
            "the system backed only {} of {} MiB with huge pages{}",
            huge >> 20,
            self.len() >> 20,
            os::why_no_huge_pages()
        )))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        os::release(self);
    }
}

/// Maps anonymous memory; an error names `call`.
#[cfg(unix)]
pub(crate) fn map_anonymous(
    bytes: usize,
    access: libc::c_int,
    sharing: libc::c_int,
    call: &str,
) -> Result<NonNull<u8>, CaseError> {
    let (anywhere, kind) = (std::ptr::null_mut(), sharing | libc::MAP_ANON);
    // SAFETY: a new anonymous mapping touches nothing that exists.
    let place = unsafe { libc::mmap(anywhere, bytes, access, kind, -1, 0) };
    let mapped = NonNull::new(place.cast()).filter(|_| place != libc::MAP_FAILED);
    mapped.ok_or_else(|| CaseError::last_os_error(call))
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ptr::NonNull;

    #[cfg(not(target_os = "linux"))]
    use super::Pages;
    use super::Region;
    use crate::CaseError;

    const WRITABLE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

    pub fn reserve(bytes: usize) -> Result<NonNull<u8>, CaseError> {
        super::map_anonymous(bytes, WRITABLE, libc::MAP_PRIVATE, "mmap")
    }

    pub fn release(region: &mut Region) {
        // SAFETY: the mapping is the region's own, and nothing refers to it any more.
        unsafe { libc::munmap(region.mapping.as_ptr().cast(), region.mapping.len()) };
    }

    pub fn page_size() -> usize {
        // SAFETY: sysconf only takes a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    }

    #[cfg(target_os = "linux")]
    pub use super::linux::{available, discard, huge_bytes, huge_page, prepare, why_no_huge_pages};
    #[cfg(not(target_os = "linux"))]
    pub use super::unknown::{available, huge_bytes, huge_page, why_no_huge_pages};

    #[cfg(not(target_os = "linux"))]
    pub fn prepare(_region: &Region, pages: Pages) -> Result<(), CaseError> {
        match pages {
            Pages::Base => Ok(()),
            Pages::Huge => {
                Err(CaseError::Unsupported("this system cannot be asked for huge pages".into()))
            }
        }
    }

    /// Gives the pages back by mapping new memory over them: advice is only a hint.
    #[cfg(not(target_os = "linux"))]
    pub fn discard(region: &Region) -> Result<(), CaseError> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        let place = region.start().cast();
        // SAFETY: the range is the region, whose contents nobody relies on any more.
        let mapped = unsafe { libc::mmap(place, region.bytes, WRITABLE, kind, -1, 0) };
        let failed = mapped == libc::MAP_FAILED;
        if failed { Err(CaseError::last_os_error("mmap")) } else { Ok(()) }
    }
}

/// Systems that do not report the backing pages.
#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod unknown {
    #[cfg(unix)]
    pub fn available() -> Option<u64> {
        None
    }

    pub fn huge_page() -> usize {
        super::HUGE_PAGE
    }

    pub fn huge_bytes(_address: *mut u8) -> Option<u64> {
        None
    }

    pub fn why_no_huge_pages() -> String {
        String::new()
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod linux {
    use std::path::Path;

    use super::{HUGE_PAGE, Pages, Region};
    use crate::CaseError;
    use crate::linux::cgroup;
    use crate::linux::tree::{Tree, field};
    use crate::memory::smaps::Resident;

    /// The kernel's size of huge pages: not 2 MiB where base pages have 16 or 64 KiB.
    pub fn huge_page() -> usize {
        const SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
        let size = std::fs::read_to_string(SIZE).ok().and_then(|text| text.trim().parse().ok());
        size.filter(|size: &usize| size.is_power_of_two()).unwrap_or(HUGE_PAGE)
    }

    pub fn prepare(region: &Region, pages: Pages) -> Result<(), CaseError> {
        let advice = match pages {
            Pages::Base => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range is the region.
        let done = unsafe { libc::madvise(region.start().cast(), region.bytes, advice) };
        match (done, pages) {
            (0, _) => Ok(()),
            // A kernel without huge pages does not know the advice against them.
            (_, Pages::Base) => Ok(()),
            (_, Pages::Huge) => {
                let error = std::io::Error::last_os_error();
                Err(CaseError::Unsupported(format!("no transparent huge pages: {error}")))
            }
        }
    }

    pub fn discard(region: &Region) -> Result<(), CaseError> {
        // SAFETY: the range is the region, whose contents nobody relies on any more.
        let done =
            unsafe { libc::madvise(region.start().cast(), region.bytes, libc::MADV_DONTNEED) };
        if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("madvise")) }
    }

    pub fn huge_bytes(address: *mut u8) -> Option<u64> {
        Resident::at(address).map(|resident| resident.huge)
    }

    pub fn why_no_huge_pages() -> String {
        let setting = "/sys/kernel/mm/transparent_hugepage/enabled";
        std::fs::read_to_string(setting)
            .map_or_else(|_| String::new(), |text| format!(" ({setting}: {})", text.trim()))
    }

    pub fn available() -> Option<u64> {
        let tree = Tree::new(Path::new("/"));
        let meminfo = tree.text("proc/meminfo")?;
        let kib =
            field(&meminfo, "MemAvailable")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
        let of_system = kib.checked_mul(1024)?;
        let of_groups = cgroup::memory_left(&tree);
        Some(of_groups.map_or(of_system, |left| left.min(of_system)))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
pub(crate) mod os {
    use std::ptr::NonNull;

    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
        VirtualFree,
    };
    use windows_sys::Win32::System::SystemInformation::{
        GetNativeSystemInfo, GlobalMemoryStatusEx, MEMORYSTATUSEX, SYSTEM_INFO,
    };

    pub use super::unknown::{huge_bytes, huge_page, why_no_huge_pages};
    use super::{Pages, Region};
    use crate::CaseError;

    pub fn reserve(bytes: usize) -> Result<NonNull<u8>, CaseError> {
        // SAFETY: a new reservation touches nothing that exists.
        let place = unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE, PAGE_READWRITE) };
        NonNull::new(place.cast()).ok_or_else(|| CaseError::last_os_error("VirtualAlloc"))
    }

    pub fn release(region: &mut Region) {
        // SAFETY: the reservation is the region's own, and nothing refers to it any more.
        unsafe { VirtualFree(region.mapping.as_ptr().cast(), 0, MEM_RELEASE) };
    }

    pub fn prepare(region: &Region, pages: Pages) -> Result<(), CaseError> {
        if pages == Pages::Huge {
            let text = "large pages need SeLockMemoryPrivilege, and are not measured on Windows";
            return Err(CaseError::Unsupported(text.into()));
        }
        // SAFETY: the range is part of this reservation.
        let place = unsafe {
            VirtualAlloc(region.start().cast(), region.bytes, MEM_COMMIT, PAGE_READWRITE)
        };
        if place.is_null() { Err(CaseError::last_os_error("VirtualAlloc")) } else { Ok(()) }
    }

    pub fn discard(region: &Region) -> Result<(), CaseError> {
        // SAFETY: the range is the region, whose contents nobody relies on any more.
        match unsafe { VirtualFree(region.start().cast(), region.bytes, MEM_DECOMMIT) } {
            0 => Err(CaseError::last_os_error("VirtualFree")),
            _ => prepare(region, Pages::Base),
        }
    }

    pub fn page_size() -> usize {
        (system_info().dwPageSize as usize).max(4096)
    }

    /// The processors of this machine.
    pub fn system_info() -> SYSTEM_INFO {
        let mut info = SYSTEM_INFO::default();
        // SAFETY: `info` is valid for writes.
        unsafe { GetNativeSystemInfo(&mut info) };
        info
    }

    pub fn available() -> Option<u64> {
        status().map(|status| status.ullAvailPhys)
    }

    /// The memory of this machine.
    pub fn status() -> Option<MEMORYSTATUSEX> {
        let length = size_of::<MEMORYSTATUSEX>() as u32;
        let mut status = MEMORYSTATUSEX { dwLength: length, ..Default::default() };
        // SAFETY: `status` is valid for writes, and contains its size.
        (unsafe { GlobalMemoryStatusEx(&mut status) } != 0).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_and_its_pages_are_zero_again_after_discarding() {
        let region = Region::new(10 * page_size() - 1, Pages::Base).unwrap();
        assert_eq!((region.len(), region.start() as usize % HUGE_PAGE), (10 * page_size(), 0));
        region.populate();
        let last = region.start().wrapping_add(region.len() - 1);
        // SAFETY: the last byte is within the region.
        unsafe {
            last.write_volatile(7);
            assert_eq!(last.read_volatile(), 7);
            region.discard().unwrap();
            assert_eq!(last.read_volatile(), 0);
        }
    }

    #[test]
    fn base_pages_are_never_huge_and_huge_ones_are_checked() {
        let base = Region::new(2 * HUGE_PAGE, Pages::Base).unwrap();
        base.populate();
        assert!(matches!(base.huge_bytes(), None | Some(0)), "{:?}", base.huge_bytes());
        let refused = base.require_huge_pages();
        assert!(matches!(refused, Err(CaseError::Unsupported(_))), "{refused:?}");
        match Region::new(2 * HUGE_PAGE, Pages::Huge) {
            Ok(huge) => {
                huge.populate();
                println!("{:?} of {} bytes in huge pages", huge.huge_bytes(), huge.len());
            }
            Err(error) => assert!(matches!(error, CaseError::Unsupported(_)), "{error}"),
        }
    }

    #[test]
    fn more_memory_than_there_is_is_unsupported() {
        if available().is_none() {
            return println!("the available memory is unknown here");
        }
        let refused = require(u64::MAX);
        assert!(matches!(&refused, Err(CaseError::Unsupported(_))), "{refused:?}");
        assert_eq!(require(0).is_ok(), available() >= Some(RESERVE));
    }
}
