//! Private mappings of a temporary file.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

use measure::CaseError;
use platform::memory::page_size;
use platform::memory::pages::Pages;

/// Size of the file's mapped part in bytes, and number of its mappings: together they have pages for most of a round.
const PART: usize = 4 << 20;
pub const MAPPINGS: usize = 64;
/// Bytes that Linux maps in one fault: up to 16 pages that are in memory (`fault_around_bytes`).
pub const AROUND: usize = 64 << 10;

/// Several private mappings of the beginning of one file at consecutive addresses, readable and writable; unmapped when
/// dropped. No page is mapped at first. Writes do not reach the file.
#[derive(Debug)]
pub struct FileMappings {
    pages: Pages,
    each: usize,
    count: usize,
}

impl FileMappings {
    /// Maps the first `each` bytes of `file` `count` times. `each` must be a multiple of the page size, and at most the
    /// file's size.
    pub fn new(file: &File, each: usize, count: usize) -> Result<Self, CaseError> {
        let reserved = Pages::new(each * count);
        let pages = reserved.ok_or_else(|| CaseError::last_os_error("mmap"))?;
        let mappings = Self { pages, each, count };
        mappings.reset(file).map(|()| mappings)
    }

    /// Maps the file anew, so that no page is mapped and earlier writes are discarded.
    pub fn reset(&self, file: &File) -> Result<(), CaseError> {
        for number in 0..self.count {
            // SAFETY: the range is part of this reservation, and nothing relies on what is there.
            let place = unsafe {
                libc::mmap(
                    self.start().add(number * self.each).cast(),
                    self.each,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_FIXED,
                    file.as_raw_fd(),
                    0,
                )
            };
            if place == libc::MAP_FAILED {
                return Err(CaseError::last_os_error("mmap of a file"));
            }
        }
        Ok(())
    }

    /// The first byte of the first mapping.
    pub fn start(&self) -> *mut u8 {
        self.pages.first()
    }

    /// Bytes of all mappings.
    pub fn len(&self) -> usize {
        self.each * self.count
    }
}

/// A temporary file whose pages are in memory, and the length of its part to be mapped. It is written page by page: since Linux
/// 6.18 a fault maps the whole of a large folio, and data written at once may become one.
pub fn cached() -> Result<(File, usize), CaseError> {
    let mut file = crate::syscall::unnamed_file::open()?;
    let page = vec![1; page_size()];
    for _ in 0..PART / page.len() {
        file.write_all(&page).map_err(|error| CaseError::from_io("a temporary file", &error))?;
    }
    Ok((file, PART))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use platform::counters::{SyscallCounting, ThreadCounters};

    use super::*;

    /// A file in large folios, such as this program's own, takes half as many faults as there are reads.
    #[test]
    fn each_first_read_of_64_kib_is_a_fault() {
        let (file, part) = cached().unwrap();
        let mappings = FileMappings::new(&file, part, 2).unwrap();
        let mut counters = ThreadCounters::open(SyscallCounting::None);
        counters.start();
        for at in (0..mappings.len()).step_by(AROUND) {
            // SAFETY: the address is within the mappings.
            let byte = unsafe { mappings.start().add(at).read_volatile() };
            assert_eq!(byte, 1);
        }
        let faults = counters.stop().page_faults.unwrap();
        let expected = (mappings.len() / AROUND) as u64;
        assert!((expected..expected + 8).contains(&faults), "{faults}, not {expected}");
    }

    #[test]
    fn each_mapping_has_the_file_and_what_is_written_to_one_is_its_own() {
        let mut file = File::open(std::env::current_exe().unwrap()).unwrap();
        let each = 4 * page_size();
        let mappings = FileMappings::new(&file, each, 3).unwrap();
        assert_eq!(mappings.len(), 3 * each);
        let mut first = [0u8; 64];
        file.read_exact(&mut first).unwrap();
        let byte = |at: usize| mappings.start().wrapping_add(at);
        for number in 0..3 {
            for (at, expected) in first.iter().enumerate() {
                // SAFETY: the address is within the mappings.
                assert_eq!(unsafe { byte(number * each + at).read_volatile() }, *expected);
            }
        }
        // SAFETY: as above.
        unsafe {
            byte(each).write_volatile(!first[0]);
            assert_eq!(byte(0).read_volatile(), first[0]);
            assert_eq!(byte(2 * each).read_volatile(), first[0]);
            mappings.reset(&file).unwrap();
            assert_eq!(byte(each).read_volatile(), first[0]);
        }
    }
}
