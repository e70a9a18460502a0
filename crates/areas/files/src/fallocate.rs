use std::fs::File;

use measure::CaseError;
use platform::file::io::{allocate, allocated, free_all};

use super::directory::Home;
use super::{DIR, WHOLE_AT_MOST};
use catalog::{Case, Param, Takes, size_of};

/// Reserving space for a file and giving it back.
pub const CASE: Case = Case {
    operation: "One fallocate of this size for an empty file and one ftruncate that frees it \
                (SetFileInformationByHandle on Windows).",
    comparable_to: "will-it-scale's `fallocate1` allocates 1 MiB in steps of 8 KiB before each ftruncate.",
    params: &[
        Param::new("size", &["1m"])
            .meaning("how much is allocated, in bytes")
            .full(&["64k", "1m", "16m"])
            .takes(Takes::Size(WHOLE_AT_MOST)),
        DIR,
    ],
    run: |params, round| {
        let size = size_of(params, "size")?;
        let home = Home::with_room(params, 1, size)?;
        let file = File::create_new(home.file(1))
            .map_err(|e| CaseError::from_io("creating a file", &e))?;
        allocate(&file, size as u64).map_err(|e| CaseError::from_io("fallocate", &e))?;
        expect_allocated(&file, size as u64)?;
        free_all(&file)?;
        round.expect_unix_calls(2.0);
        round.time_call("fallocate and ftruncate", || {
            allocate(&file, size as u64).and_then(|()| free_all(&file)).is_ok()
        })
    },
    ..Case::new("file", "fallocate")
};

/// Fails unless the file system reports at least `bytes` allocated bytes for the file. Checks nothing on systems that do not
/// report it.
fn expect_allocated(file: &File, bytes: u64) -> Result<(), CaseError> {
    match allocated(file)? {
        Some(has) if has < bytes => {
            Err(CaseError::Failed(format!("fallocate of {bytes} bytes reserved {has}")))
        }
        _ => Ok(()),
    }
}
