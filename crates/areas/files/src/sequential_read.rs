use std::fs::File;
use std::io::Read;

use measure::trial::Timed;
use measure::{CaseError, Params, Round};
use platform::file::aligned::AlignedBuffer;
use platform::file::filesystem::drop_contents;
use platform::file::io::{Access, open_direct};

use super::directory::Home;
use super::figures::{stage_of, times_for};
use super::metrics;
use super::pattern::{PIECE, Pattern, has_blocks_of, pieces, whole_blocks};
use super::{DIR, WHOLE_SIZE};
use catalog::{Case, Param, value_of};

/// Reading a large file from its beginning to its end.
pub const CASE: Case = Case {
    operation: "A file of this size, written just before, read once in pieces of 1 MiB: from the cache (buffered), through it when none of the file is \
                in it (cold), or past it (direct).",
    comparable_to: "lmbench's `bw_file_rd` in its variant `io_only`, which reads from the cache in pieces of 64 KiB; \
            `dd bs=1M`, with iflag=direct; fio's `rw=read`.",
    trials: Some(super::SEQUENTIAL),
    params: &[
        Param::new("mode", &["buffered", "cold", "direct"]).meaning(
            "whether it is read from the cache, through it when it is not there, or past it",
        ),
        WHOLE_SIZE,
        DIR,
    ],
    metrics: &[metrics::BANDWIDTH],
    run,
    ..Case::new("file", "sequential-read")
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let (mode, size) = (value_of(params, "mode")?, whole_blocks(params)?);
    let home = Home::with_room(params, 1, size)?;
    let path = home.file(1);
    match mode {
        "cold" => home.refuse_uncertain_cache()?,
        "direct" => home.refuse_in_memory()?,
        _ => {}
    }
    let written = Pattern::new().write_file(&path, size)?;
    if mode != "buffered" {
        written.sync_all().map_err(|e| CaseError::from_io("syncing a file", &e))?;
    }
    drop(written);
    let mut file = match mode {
        "direct" => open_direct(&path, Access::Read)?,
        _ => File::open(&path)?,
    };
    if mode == "cold" {
        drop_contents(&file)?;
    }
    let context = stage_of(round, 1)?;
    let mut times = times_for(pieces(size), round, &context);
    let mut buffer = AlignedBuffer::new(PIECE);
    // Touches the buffer before the timed read.
    buffer.fill(0);
    round.trial_of(&context, || {
        for nth in 0..pieces(size) {
            let piece = &mut buffer[..PIECE.min(size - nth * PIECE)];
            times.of_one("reading a file", || file.read_exact(piece))?;
            if !has_blocks_of(nth, piece) {
                return Err(CaseError::Failed(format!(
                    "within 1 MiB of offset {} a block was read that belongs elsewhere",
                    nth * PIECE
                )));
            }
        }
        Ok(Timed { value: (), operations: 1, took: times.sum() })
    })?;
    round.metric(&metrics::BANDWIDTH, size as f64 / times.sum().as_secs_f64().max(1e-9));
    Ok(())
}
