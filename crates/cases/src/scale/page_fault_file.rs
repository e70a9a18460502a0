use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// Pages of a file in memory, mapped by several at once.
pub const CASE: Case = Case {
    area: "scale",
    name: "page-fault-file",
    operation: "One first write to a page of a temporary file that is mapped shared and in memory already, with a share of \
                one mmap and one munmap of 64 pages.",
    comparable_to: "will-it-scale's page_fault3 does the same with 128 MiB and a file for each task.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: false,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use std::os::unix::fs::FileExt;

            use measure::CaseError;
            use platform::pages::{Pages, page_size};

            use crate::syscall::unnamed_file;

            let bytes = super::PAGES * page_size();
            round.operations_per_call(super::PAGES as u64);
            let make = |_| {
                let file = unnamed_file::open()?;
                let written = file.write_all_at(&vec![1; bytes], 0);
                written.map_err(|e| CaseError::from_io("a temporary file", &e)).map(|()| file)
            };
            let page = page_size();
            scale(params, round, "mmap", make, |file| {
                Pages::of_file(file, bytes).is_ok_and(|pages| {
                    pages.touch(page);
                    pages.free()
                })
            })
        })
    },
};
