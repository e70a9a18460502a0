use std::fs::File;

use measure::CaseError;

use super::{Calls, Mechanism, measure_round_trip, measure_transfer, pipe};
use crate::{Case, Only, only};

/// A message through a named pipe and back.
pub const ROUND_TRIP: Case = Case {
    name: "fifo",
    operation: "One round trip as in ipc/pipe, through two FIFOs opened by their names.",
    comparable_to: "lmbench's `lat_fifo` is this with a message of 1 byte.",
    only: Only::Unix("Windows has ipc/named-pipe"),
    params: super::ROUND_TRIP,
    run: |params, round| measure_round_trip(params, round, MECHANISM, pair()?),
    ..pipe::ROUND_TRIP
};

/// Blocks through a named pipe.
pub const TRANSFER: Case = Case {
    name: "fifo-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, through a FIFO opened by its name.",
    comparable_to: "The difference to ipc/pipe-bandwidth is that of the file system, which does not store the data.",
    only: Only::Unix("Windows has ipc/named-pipe-bandwidth"),
    params: super::TRANSFER,
    run: |params, round| measure_transfer(params, round, MECHANISM, pair()?),
    ..pipe::TRANSFER
};

const MECHANISM: Mechanism = Mechanism::new("a FIFO", Calls::TwoForOneByte);

fn pair() -> Result<[(File, File); 2], CaseError> {
    let ((here, back), (there, forth)) = (fifo()?, fifo()?);
    Ok([(here, forth), (there, back)])
}

/// A FIFO, opened for reading and for writing, whose name is removed at once.
#[only(unix)]
fn fifo() -> Result<(File, File), CaseError> {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    let recorded = platform::cleanup::Recorded::file()?;
    let path = recorded.path();
    let name = platform::file::path::c_path(path)?;
    // SAFETY: the name is a string that outlives the call.
    if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
        return Err(CaseError::last_os_error("mkfifo"));
    }
    let open = || -> io::Result<(File, File)> {
        // open(2) for reading would wait for a writer, so the FIFO is opened with O_NONBLOCK, which is cleared afterwards.
        let reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let writer = File::options().write(true).open(path)?;
        // SAFETY: the descriptor is open; the calls take numbers only.
        let waits_again = unsafe {
            let flags = libc::fcntl(reader.as_raw_fd(), libc::F_GETFL);
            libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) == 0
        };
        if waits_again { Ok((reader, writer)) } else { Err(io::Error::last_os_error()) }
    };
    open().map_err(|e| CaseError::from_io("a FIFO", &e))
}
