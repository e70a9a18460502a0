use std::io::Write;

use measure::trial::Timed;
use measure::{CaseError, Params, Round};
use platform::file::io::{Access, open_direct};

use super::directory::Home;
use super::figures::{stage_of, times_for};
use super::metrics;
use super::pattern::{Pattern, pieces, whole_blocks};
use super::{DIR, WHOLE_SIZE};
use catalog::{Case, Param, value_of};

/// Writing a large file from its beginning to its end.
pub const CASE: Case = Case {
    operation: "A new file of this size written in pieces of 1 MiB: into the cache, past it (direct), or into it and then \
                synced with fsync.",
    comparable_to: "`dd bs=1M`, with oflag=direct or conv=fsync; lmbench's `lmdd` and fio's `rw=write`. The file is read \
            back and compared with what was written; that, open and close are not timed.",
    trials: Some(super::SEQUENTIAL),
    params: &[
        Param::new("mode", &["buffered", "synced", "direct"])
            .meaning("whether it is written into the cache, into it and then synced, or past it"),
        WHOLE_SIZE,
        DIR,
    ],
    metrics: &[metrics::BANDWIDTH],
    run,
    ..Case::new("file", "sequential-write")
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let (mode, size) = (value_of(params, "mode")?, whole_blocks(params)?);
    let home = Home::with_room(params, 1, size)?;
    let path = home.file(1);
    if mode != "buffered" {
        home.refuse_in_memory()?;
    }
    let mut file = match mode {
        "direct" => open_direct(&path, Access::Create)?,
        _ => Pattern::new().write_file(&path, 0)?,
    };
    let context = stage_of(round, 1)?;
    let mut pattern = Pattern::new();
    let mut times = times_for(pieces(size) + 1, round, &context);
    round.trial_of(&context, || {
        for nth in 0..pieces(size) {
            let piece = pattern.piece(nth, size);
            times.of_one("writing a file", || file.write_all(piece))?;
        }
        if mode == "synced" {
            times.of_one("syncing a file", || file.sync_all())?;
        }
        Ok(Timed { value: (), operations: 1, took: times.sum() })
    })?;
    drop(file);
    pattern.verify_file(&path, size)?;
    round.metric(&metrics::BANDWIDTH, size as f64 / times.sum().as_secs_f64().max(1e-9));
    Ok(())
}
