//! Memory from the system: regions of whole pages, what backs them, and how much is available.

use crate::CaseError;

pub use os::Region;

/// The usual size of a huge page, and the alignment of every [`Region`].
pub const HUGE_PAGE: usize = 2 << 20;

/// What remains for everything else when a measurement takes memory, in bytes.
const RESERVE: u64 = 64 << 20;

/// The pages that back a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Pages of the usual size: also where the system would choose huge ones by itself, if it can be asked not to.
    Base,
    /// Huge pages.
    Huge,
}

/// Bytes of a page of the usual size.
pub fn page_size() -> usize {
    os::page_size()
}

/// The memory that this process can use without swapping, in bytes: the minimum of what the system reports and what its
/// control groups leave; `None` where it is unknown.
pub fn available() -> Option<u64> {
    os::available()
}

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

impl Region {
    /// Writes to each page of the usual size, so that all memory is there.
    pub fn populate(&self) {
        for at in (0..self.len()).step_by(page_size()) {
            // SAFETY: `at` is within the region, which is writable.
            unsafe { self.start().add(at).write_volatile(0) };
        }
    }

    /// Checks, after [`Region::populate`], that huge pages back nearly all of it.
    ///
    /// # Errors
    /// `Unsupported` if they do not, or if it is unknown.
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

#[cfg(unix)]
mod os {
    use std::ptr::NonNull;

    use super::{HUGE_PAGE, Pages};
    use crate::CaseError;

    /// Private anonymous memory, readable and writable, aligned to a huge page; unmapped when dropped. Its pages come into
    /// being when they are used.
    #[derive(Debug)]
    pub struct Region {
        mapping: NonNull<u8>,
        mapped: usize,
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
        /// If the system refuses; `Unsupported` if it has no huge pages for a region of those.
        pub fn new(bytes: usize, pages: Pages) -> Result<Self, CaseError> {
            let unit = if pages == Pages::Huge { HUGE_PAGE } else { page_size() };
            let bytes = bytes.max(1).next_multiple_of(unit);
            let mapped = bytes + HUGE_PAGE;
            // SAFETY: a new anonymous mapping touches nothing that exists.
            let mapping = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    mapped,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANON,
                    -1,
                    0,
                )
            };
            let failed = mapping == libc::MAP_FAILED;
            let Some(mapping) = NonNull::new(mapping.cast::<u8>()).filter(|_| !failed) else {
                return Err(CaseError::last_os_error("mmap"));
            };
            let ahead = mapping.as_ptr().align_offset(HUGE_PAGE);
            // SAFETY: the mapping is longer by a huge page than what lies behind that address.
            let start = unsafe { mapping.add(ahead) };
            let region = Self { mapping, mapped, start, bytes };
            advise(&region, pages)?;
            Ok(region)
        }

        /// Its first byte.
        pub fn start(&self) -> *mut u8 {
            self.start.as_ptr()
        }

        /// Its size in bytes.
        #[allow(clippy::len_without_is_empty, reason = "it never is")]
        pub fn len(&self) -> usize {
            self.bytes
        }

        /// Gives all its pages back: the next access to each is a page fault, and finds zeros.
        ///
        /// # Errors
        /// If the system refuses.
        pub fn discard(&self) -> Result<(), CaseError> {
            discard(self)
        }

        /// How many of its bytes are in huge pages; `None` where the system does not report it.
        pub fn huge_bytes(&self) -> Option<u64> {
            huge_bytes(self.start() as usize)
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: the mapping is the region's own, and nothing refers to it any more.
            unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
        }
    }

    pub fn page_size() -> usize {
        // SAFETY: sysconf only takes a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    }

    #[cfg(target_os = "linux")]
    fn advise(region: &Region, pages: Pages) -> Result<(), CaseError> {
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

    #[cfg(not(target_os = "linux"))]
    fn advise(_region: &Region, pages: Pages) -> Result<(), CaseError> {
        match pages {
            Pages::Base => Ok(()),
            Pages::Huge => {
                Err(CaseError::Unsupported("this system cannot be asked for huge pages".into()))
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn discard(region: &Region) -> Result<(), CaseError> {
        // SAFETY: the range is the region, whose contents nobody relies on any more.
        let done =
            unsafe { libc::madvise(region.start().cast(), region.bytes, libc::MADV_DONTNEED) };
        if done == 0 { Ok(()) } else { Err(CaseError::last_os_error("madvise")) }
    }

    /// Elsewhere the advice is only a hint: new memory is mapped over the old.
    #[cfg(not(target_os = "linux"))]
    fn discard(region: &Region) -> Result<(), CaseError> {
        // SAFETY: the range is the region, whose contents nobody relies on any more.
        let mapped = unsafe {
            libc::mmap(
                region.start().cast(),
                region.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        let failed = mapped == libc::MAP_FAILED;
        if failed { Err(CaseError::last_os_error("mmap")) } else { Ok(()) }
    }

    #[cfg(target_os = "linux")]
    fn huge_bytes(address: usize) -> Option<u64> {
        super::linux::huge_bytes_at(&std::fs::read_to_string("/proc/self/smaps").ok()?, address)
    }

    #[cfg(not(target_os = "linux"))]
    fn huge_bytes(_address: usize) -> Option<u64> {
        None
    }

    #[cfg(target_os = "linux")]
    pub fn why_no_huge_pages() -> String {
        let setting = "/sys/kernel/mm/transparent_hugepage/enabled";
        std::fs::read_to_string(setting)
            .map_or_else(|_| String::new(), |text| format!(" ({setting}: {})", text.trim()))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn why_no_huge_pages() -> String {
        String::new()
    }

    #[cfg(target_os = "linux")]
    pub fn available() -> Option<u64> {
        super::linux::available()
    }

    #[cfg(not(target_os = "linux"))]
    pub fn available() -> Option<u64> {
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    use crate::machine::linux::cgroup;
    use crate::machine::linux::tree::{Tree, field};

    pub fn available() -> Option<u64> {
        let tree = Tree::new(Path::new("/"));
        let meminfo = tree.text("proc/meminfo")?;
        let kib =
            field(&meminfo, "MemAvailable")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
        let of_system = kib.checked_mul(1024)?;
        let of_groups = cgroup::memory_left(&tree);
        Some(of_groups.map_or(of_system, |left| left.min(of_system)))
    }

    /// AnonHugePages of the mapping that contains `address` in the text of /proc/self/smaps (proc_pid_smaps(5)).
    pub fn huge_bytes_at(smaps: &str, address: usize) -> Option<u64> {
        let mut inside = false;
        for line in smaps.lines() {
            let first = line.split_ascii_whitespace().next().unwrap_or_default();
            if let Some((from, to)) = first.split_once('-') {
                let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
                let range = hexadecimal(from)?..hexadecimal(to)?;
                inside = range.contains(&address);
            } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
                return rest
                    .trim()
                    .strip_suffix("kB")?
                    .trim()
                    .parse::<u64>()
                    .ok()?
                    .checked_mul(1024);
            }
        }
        None
    }

    #[cfg(test)]
    mod tests {
        use super::huge_bytes_at;

        #[test]
        fn huge_pages_are_those_of_the_mapping_at_the_address() {
            let smaps = "5580-5590 r-xp 00000000 fe:00 42   /bin/x\nSize: 4 kB\nAnonHugePages:         \
                         0 kB\n7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \nSize: 4096 \
                         kB\nAnonHugePages:      2048 kB\n";
            assert_eq!(huge_bytes_at(smaps, 0x7f00_0020_0000), Some(2 << 20));
            assert_eq!(huge_bytes_at(smaps, 0x5580), Some(0));
            assert_eq!(huge_bytes_at(smaps, 0x1000), None);
        }
    }
}

#[cfg(windows)]
mod os {
    use std::ptr::NonNull;

    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
        VirtualFree,
    };
    use windows_sys::Win32::System::SystemInformation::{
        GetNativeSystemInfo, GlobalMemoryStatusEx, MEMORYSTATUSEX, SYSTEM_INFO,
    };

    use super::{HUGE_PAGE, Pages};
    use crate::CaseError;

    /// Private memory, readable and writable, aligned to a huge page; freed when dropped. Its pages come into being when
    /// they are used.
    #[derive(Debug)]
    pub struct Region {
        reserved: NonNull<u8>,
        start: NonNull<u8>,
        bytes: usize,
    }

    // SAFETY: the memory belongs to the region alone; all access is through raw pointers.
    unsafe impl Send for Region {}
    // SAFETY: as above.
    unsafe impl Sync for Region {}

    impl Region {
        /// Reserves and commits `bytes`, rounded up to whole pages.
        ///
        /// # Errors
        /// If the system refuses; `Unsupported` for huge pages, which need a privilege that few accounts have.
        pub fn new(bytes: usize, pages: Pages) -> Result<Self, CaseError> {
            if pages == Pages::Huge {
                let text =
                    "large pages need SeLockMemoryPrivilege, and are not measured on Windows";
                return Err(CaseError::Unsupported(text.into()));
            }
            let bytes = bytes.max(1).next_multiple_of(page_size());
            // SAFETY: a new reservation touches nothing that exists.
            let reserved = unsafe {
                VirtualAlloc(std::ptr::null(), bytes + HUGE_PAGE, MEM_RESERVE, PAGE_READWRITE)
            };
            let Some(reserved) = NonNull::new(reserved.cast::<u8>()) else {
                return Err(CaseError::last_os_error("VirtualAlloc"));
            };
            let ahead = reserved.as_ptr().align_offset(HUGE_PAGE);
            // SAFETY: the reservation is longer by a huge page than what lies behind that address.
            let start = unsafe { reserved.add(ahead) };
            let region = Self { reserved, start, bytes };
            region.commit()?;
            Ok(region)
        }

        fn commit(&self) -> Result<(), CaseError> {
            // SAFETY: the range is part of this reservation.
            let place = unsafe {
                VirtualAlloc(self.start().cast(), self.bytes, MEM_COMMIT, PAGE_READWRITE)
            };
            if place.is_null() { Err(CaseError::last_os_error("VirtualAlloc")) } else { Ok(()) }
        }

        /// Its first byte.
        pub fn start(&self) -> *mut u8 {
            self.start.as_ptr()
        }

        /// Its size in bytes.
        #[allow(clippy::len_without_is_empty, reason = "it never is")]
        pub fn len(&self) -> usize {
            self.bytes
        }

        /// Gives all its pages back: the next access to each is a page fault, and finds zeros.
        ///
        /// # Errors
        /// If the system refuses.
        pub fn discard(&self) -> Result<(), CaseError> {
            // SAFETY: the range is the region, whose contents nobody relies on any more.
            let done = unsafe { VirtualFree(self.start().cast(), self.bytes, MEM_DECOMMIT) };
            if done == 0 { Err(CaseError::last_os_error("VirtualFree")) } else { self.commit() }
        }

        /// Unknown here.
        pub fn huge_bytes(&self) -> Option<u64> {
            None
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: the reservation is the region's own, and nothing refers to it any more.
            unsafe { VirtualFree(self.reserved.as_ptr().cast(), 0, MEM_RELEASE) };
        }
    }

    pub fn page_size() -> usize {
        // SAFETY: an all-zero structure is valid, and the call fills it.
        let info = unsafe {
            let mut info: SYSTEM_INFO = std::mem::zeroed();
            GetNativeSystemInfo(&mut info);
            info
        };
        (info.dwPageSize as usize).max(4096)
    }

    pub fn available() -> Option<u64> {
        // SAFETY: an all-zero structure is valid; it contains its size.
        unsafe {
            let mut status: MEMORYSTATUSEX = std::mem::zeroed();
            status.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
            (GlobalMemoryStatusEx(&mut status) != 0).then_some(status.ullAvailPhys)
        }
    }

    pub fn why_no_huge_pages() -> String {
        String::new()
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
