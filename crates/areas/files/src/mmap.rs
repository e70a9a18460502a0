use std::hint::black_box;

use measure::CaseError;
use platform::file::mapping::FileMapping;

use super::directory::Home;
use super::pattern::{Pattern, is_block, whole_blocks};
use super::{BLOCK, DIR, WHOLE_AT_MOST};
use catalog::{Case, Param, Takes};

/// Mapping, reading and unmapping a cached file.
pub const CASE: Case = Case {
    operation: "One mmap of a whole cached file, one byte read from each 4,096 of it, and one munmap \
                (CreateFileMappingW, MapViewOfFile and UnmapViewOfFile on Windows).",
    comparable_to: "lmbench's `lat_mmap` maps and unmaps and touches one page in each 16 KiB; Linux maps up to 16 cached \
            pages with one fault. memory has faults of single pages.",
    params: &[
        Param::new("size", &["64k", "1m"])
            .meaning("the size of the file, in bytes")
            .full(&["4k", "64k", "1m", "16m"])
            .takes(Takes::Size(WHOLE_AT_MOST)),
        DIR,
    ],
    run: |params, round| {
        let size = whole_blocks(params)?;
        let home = Home::with_room(params, 1, size)?;
        let path = home.file(1);
        Pattern::new().write_file(&path, size)?;
        let file = std::fs::File::open(&path)?;
        // SAFETY: the file has that length, and no other process knows it.
        let map = || unsafe { FileMapping::new(&file, size) };
        let mapping = map().map_err(|e| CaseError::from_io("mmap of a file", &e))?;
        if !(0..size / BLOCK).all(|nth| is_block(&mapping[nth * BLOCK..][..BLOCK], nth as u64)) {
            return Err(CaseError::Failed("a mapping has other contents than its file".into()));
        }
        let expected = sum_of_first_bytes(&mapping);
        drop(mapping);
        round.expect_unix_calls(2.0);
        round.expect_faults(1.0);
        round.time_call("mmap, reading and munmap", || {
            map().is_ok_and(|mapping| sum_of_first_bytes(&mapping) == expected)
        })
    },
    ..Case::new("file", "mmap")
};

/// Sum of the first bytes of all blocks, which reads each block.
fn sum_of_first_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().step_by(BLOCK).map(|byte| u64::from(*black_box(byte))).sum()
}
