use std::io::{self, PipeReader, PipeWriter};

use measure::CaseError;

use super::{
    BANDWIDTH, Calls, Mechanism, ROUND_TRIP_ANYWHERE, TRANSFER_ANYWHERE, measure_round_trip,
    measure_transfer,
};
use crate::Case;

/// A message through a pipe and back through another.
pub const ROUND_TRIP: Case = Case {
    operation: "One round trip: a message written to a pipe, read by another task, which writes it to a second pipe, and \
                read from there.",
    comparable_to: "lmbench's `lat_pipe` is this with a message of 1 byte; `perf bench sched pipe` with 4 bytes; \
            switch/pipe counts each direction.",
    params: ROUND_TRIP_ANYWHERE,
    run: |params, round| measure_round_trip(params, round, MECHANISM, pair()?),
    ..Case::new("ipc", "pipe")
};

/// Blocks through a pipe.
pub const TRANSFER: Case = Case {
    name: "pipe-bandwidth",
    operation: "One block written to a pipe of default size and read by another task, which checks its number. The \
                blocks of 1 MiB (at least 4, at most 2,048 blocks) are acknowledged together; one of them has that \
                share of the acknowledgement.",
    comparable_to: "lmbench's `bw_pipe` is this with blocks of 64 KiB; UnixBench's `pipe` has one task.",
    params: TRANSFER_ANYWHERE,
    metrics: &[BANDWIDTH],
    run: |params, round| measure_transfer(params, round, MECHANISM, pair()?),
    ..ROUND_TRIP
};

const MECHANISM: Mechanism = Mechanism::new("a pipe", Calls::TwoForOneByte);

fn pair() -> Result<[(PipeReader, PipeWriter); 2], CaseError> {
    let pipe = || io::pipe().map_err(|e| CaseError::from_io("pipe", &e));
    let ((here, back), (there, forth)) = (pipe()?, pipe()?);
    Ok([(here, forth), (there, back)])
}
