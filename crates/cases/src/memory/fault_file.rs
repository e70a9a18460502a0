use std::fs::File;
use std::io::Write;

use measure::CaseError;
use platform::mapped_file::FileMappings;
use platform::memory::page_size;

use super::expect_faults;
use crate::syscall::unnamed_file;
use crate::{Case, Only};

/// Size of the file's mapped part in bytes, and number of its mappings: together they have pages for most of a round.
const PART: usize = 4 << 20;
const MAPPINGS: usize = 64;
/// Bytes that Linux maps in one fault: up to 16 pages that are in memory (`fault_around_bytes`).
const AROUND: usize = 64 << 10;

/// First read of a page that is in the page cache.
pub const READ: Case = Case {
    operation: "One first read within each 64 KiB of a private mapping of a temporary file, which is cached: Linux maps \
                the page and up to 15 around it (fault-around).",
    comparable_to: "lmbench's `lat_pagefault` touches pages of a file in random order, and divides by pages: up to 16 of \
                    them share a fault.",
    only: Only::Linux("the number of pages that a fault maps differs between systems"),
    run: |_, round| {
        let (file, part) = cached()?;
        let mappings = FileMappings::new(&file, part, MAPPINGS)?;
        let (mut next, mut reset) = (0, Ok(()));
        round.expect_syscalls(0.0);
        expect_faults(round, 1.0);
        round.time(|| {
            if next == mappings.len() {
                next = 0;
                reset = reset.clone().and_then(|()| mappings.reset(&file));
            }
            // SAFETY: the address is within the mappings.
            std::hint::black_box(unsafe { mappings.start().add(next).read_volatile() });
            next += AROUND;
        })?;
        reset
    },
    ..Case::new("memory", "fault-file")
};

/// First write to a privately mapped page, which is copied.
pub const COPY: Case = Case {
    name: "fault-copy-on-write",
    operation: "One first write to a page of a private mapping of a cached file that is mapped for reading already: \
                the system takes a page, copies 4 KiB to it and maps it instead.",
    comparable_to: "After fork(2) parent and child pay the same for each page that they write. lmbench's `lat_proc fork` \
                    contains such faults.",
    run: |_, round| {
        let (file, part) = cached()?;
        // Each write takes a page of memory, so the number of pages is that of memory/fault-anonymous.
        let mappings = FileMappings::new(&file, part, MAPPINGS / 4)?;
        platform::memory::require(mappings.len() as u64)?;
        let page = page_size();
        let read_all = || {
            for at in (0..mappings.len()).step_by(page) {
                // SAFETY: the address is within the mappings.
                std::hint::black_box(unsafe { mappings.start().add(at).read_volatile() });
            }
        };
        read_all();
        let (mut next, mut reset) = (0, Ok(()));
        round.expect_syscalls(0.0);
        expect_faults(round, 1.0);
        round.time(|| {
            if next == mappings.len() {
                next = 0;
                reset = reset.clone().and_then(|()| mappings.reset(&file));
                read_all();
            }
            // SAFETY: the address is within the mappings, which are writable and private.
            unsafe { mappings.start().add(next).write_volatile(1) };
            next += page;
        })?;
        reset
    },
    ..READ
};

/// A temporary file whose pages are in memory, and the length of its part to be mapped. It is written page by page: since Linux
/// 6.18 a fault maps the whole of a large folio, and data written at once may become one.
fn cached() -> Result<(File, usize), CaseError> {
    let mut file = unnamed_file::open()?;
    let page = vec![1; page_size()];
    for _ in 0..PART / page.len() {
        file.write_all(&page).map_err(|error| CaseError::from_io("a temporary file", &error))?;
    }
    Ok((file, PART))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
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
}
