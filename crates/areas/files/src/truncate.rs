use std::fs::File;

use measure::CaseError;

use super::directory::Home;
use super::{BLOCK, DIR};
use catalog::Case;

/// Changing the size of a file.
pub const CASE: Case = Case {
    operation: "One ftruncate, which by turns extends an empty file to 4,096 bytes without allocating them and makes it \
                empty again: the mean of both (SetFileInformationByHandle on Windows).",
    comparable_to: "stress-ng's `fallocate` and `hdd` mix it with writes; will-it-scale's `fallocate1` ends each round \
            with one that frees blocks.",
    params: &[DIR],
    run: |params, round| {
        let home = Home::with_room(params, 1, BLOCK)?;
        let file = File::create_new(home.file(1))
            .map_err(|e| CaseError::from_io("creating a file", &e))?;
        round.operations_per_call(2);
        round.expect_unix_calls(1.0);
        round.time_call("ftruncate", || {
            file.set_len(BLOCK as u64).and_then(|()| file.set_len(0)).is_ok()
        })?;
        file.set_len(BLOCK as u64)?;
        match file.metadata()?.len() {
            len if len == BLOCK as u64 => Ok(()),
            len => Err(CaseError::Failed(format!("ftruncate to {BLOCK} bytes left {len}"))),
        }
    },
    ..Case::new("file", "truncate")
};
