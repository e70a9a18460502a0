use measure::{CaseError, Params, Round};

use crate::{Case, Only, only};

#[cfg(target_os = "linux")]
mod mappings;

/// First read of a page that is in the page cache.
pub const READ: Case = Case {
    operation: "One first read within each 64 KiB of a private mapping of a temporary file, which is cached: Linux maps \
                the page and up to 15 around it (fault-around).",
    comparable_to: "lmbench's `lat_pagefault` touches pages of a file in random order, and divides by pages: up to 16 of \
                    them share a fault.",
    only: Only::Linux("the number of pages that a fault maps differs between systems"),
    run: read,
    ..Case::new("memory", "fault-file")
};

/// First write to a privately mapped page, which is copied.
pub const COPY: Case = Case {
    name: "fault-copy-on-write",
    operation: "One first write to a page of a private mapping of a cached file that is mapped for reading already: \
                the system takes a page, copies 4 KiB to it and maps it instead.",
    comparable_to: "After fork(2) parent and child pay the same for each page that they write. lmbench's `lat_proc fork` \
                    contains such faults.",
    run: copy,
    ..READ
};

#[only(linux)]
fn read(_: &Params, round: &mut Round) -> Result<(), CaseError> {
    use mappings::{AROUND, FileMappings, MAPPINGS, cached};

    let (file, part) = cached()?;
    let mappings = FileMappings::new(&file, part, MAPPINGS)?;
    let (mut next, mut reset) = (0, Ok(()));
    round.expect_syscalls(0.0);
    round.expect_faults(1.0);
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
}

#[only(linux)]
fn copy(_: &Params, round: &mut Round) -> Result<(), CaseError> {
    use mappings::{FileMappings, MAPPINGS, cached};
    use platform::memory::{page_size, require};

    let (file, part) = cached()?;
    // Each write takes a page of memory, so the number of pages is that of memory/fault-anonymous.
    let mappings = FileMappings::new(&file, part, MAPPINGS / 4)?;
    require(mappings.len() as u64)?;
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
    round.expect_faults(1.0);
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
}
