use std::io::{self, PipeReader, PipeWriter};

use measure::CaseError;

use super::{METRICS, TokenEnd, measure_pair, read_token, write_token};
use crate::Case;
use crate::partner::{AS_WHERE_POSSIBLE, PLACE};

/// A token passed as bytes in a pipe.
pub const CASE: Case = Case {
    operation: "One hand-over of a token of 4 bytes to another task, which waits for it: one write to a pipe and one read \
                from a second one per task and hand-over. place=same: a context switch; other: a wake-up on another CPU. \
                Half of the way there and back.",
    comparable_to: "lmbench's `lat_pipe`, `perf bench sched pipe` and UnixBench's `context1` make the same calls and count \
            the way there and back, twice this; stress-ng's `switch` stressor sends in one direction; lmbench's \
            `lat_ctx` subtracts the calls (see switch/ring).",
    params: &[AS_WHERE_POSSIBLE, PLACE],
    metrics: METRICS,
    run: |params, round| {
        let calls = platform::process::CAN_FORK.then_some(1.0);
        measure_pair(params, round, ring_of_pipes(2)?, calls)
    },
    ..Case::new("switch", "pipe")
};

/// One task's end of a ring of pipes.
pub struct PipeEnd {
    reader: PipeReader,
    writer: PipeWriter,
}

/// Creates a pipe from each of `tasks` tasks to the next.
///
/// # Errors
/// The error of the system call.
pub fn ring_of_pipes(tasks: usize) -> Result<Vec<PipeEnd>, CaseError> {
    let pipes: io::Result<Vec<_>> = (0..tasks).map(|_| io::pipe()).collect();
    let pipes = pipes.map_err(|e| CaseError::from_io("pipe", &e))?;
    let (readers, mut writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
    // Each task writes into the pipe of the next task.
    writers.rotate_left(1.min(tasks));
    let ends = readers.into_iter().zip(writers);
    Ok(ends.map(|(reader, writer)| PipeEnd { reader, writer }).collect())
}

impl TokenEnd for PipeEnd {
    #[inline(always)]
    fn pass(&mut self, token: u32) -> io::Result<()> {
        write_token(&mut self.writer, token)
    }

    #[inline(always)]
    fn take(&mut self) -> io::Result<u32> {
        read_token(&mut self.reader)
    }
}
