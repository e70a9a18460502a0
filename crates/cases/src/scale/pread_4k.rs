use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// Reading a page that is in memory already.
pub const CASE: Case = Case {
    area: "scale",
    name: "pread-4k",
    operation: "One pread of the first 4,096 bytes of a temporary file, which is cached.",
    comparable_to: "will-it-scale's pread1 has a file for each task, its pread2 one for all.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use std::os::fd::AsRawFd;
            use std::os::unix::fs::FileExt;

            use measure::CaseError;

            use crate::syscall::unnamed_file;

            round.expect_syscalls(1.0);
            let make = |_| {
                let file = unnamed_file::open()?;
                let written = file.write_all_at(&[1; 4096], 0);
                written.map_err(|e| CaseError::from_io("a temporary file", &e)).map(|()| file)
            };
            scale(params, round, "pread", make, |file| {
                let mut page = [0u8; 4096];
                // SAFETY: the descriptor is open; the pointer and count describe `page`.
                let read =
                    unsafe { libc::pread(file.as_raw_fd(), page.as_mut_ptr().cast(), 4096, 0) };
                read == 4096 && std::hint::black_box(&page)[4095] == 1
            })
        })
    },
};
