use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use measure::trial::Timed;
use measure::{CaseError, Params};
use platform::file::aligned::AlignedBuffer;
use platform::file::io::{copy_file_ex, copy_range, reflink, send_file};
use platform::{IS_UNIX, IS_WINDOWS};

use super::directory::{COPIED_FILES, Home};
use super::figures::{stage_of, times_for};
use super::metrics;
use super::pattern::{PIECE, Pattern, whole_blocks};
use super::{DIR, WHOLE_SIZE};
use catalog::{Case, Extent, Param, Trials, size_of, value_of};

/// Buffer size of the read and write loop in bytes: that of cp(1).
const BUFFER: usize = 256 << 10;

/// Copying a file.
pub const CASE: Case = Case {
    operation: "A cached file of this size, written just before, copied once to a new one in the same directory: by read and write with a buffer of \
                256 KiB, by a call that copies inside the kernel, or by sharing its blocks (reflink).",
    comparable_to: "`cp --reflink=never` and `cp --reflink=always`, without their start; stress-ng's `copy-file` \
            copies ranges of a file. The copy is compared with the original; that, open and close are not timed, except \
            of CopyFileEx, which opens the files itself.",
    trials: Some(Trials { includes, ..Trials::new(takes) }),
    params: &[
        Param::new("how", &["read+write", "copy_file_range", "sendfile", "reflink", "CopyFileEx"])
            .meaning("by which calls it is copied"),
        WHOLE_SIZE,
        DIR,
    ],
    metrics: &[metrics::BANDWIDTH],
    run: |params, round| {
        let (how, size) = (value_of(params, "how")?, whole_blocks(params)?);
        let home = Home::with_room(params, COPIED_FILES, size)?;
        let [from, to] = [1, 2].map(|number| home.file(number));
        let mut pattern = Pattern::new();
        try_on_one_block(how, &home, &mut pattern)?;
        drop(pattern.write_file(&from, size)?);
        let context = stage_of(round, 1)?;
        let mut times = times_for(1, round, &context);
        let mut copy = Copy::prepare(how, &from, &to)?;
        round.trial_of(&context, || {
            times.of_one("copying a file", || copy.carry_out(size))?;
            Ok(Timed { value: (), operations: 1, took: times.sum() })
        })?;
        drop(copy);
        pattern.verify_file(&to, size)?;
        round.metric(&metrics::BANDWIDTH, size as f64 / times.sum().as_secs_f64().max(1e-9));
        Ok(())
    },
    ..Case::new("file", "copy")
};

/// Copies one block, to find out whether the system and the file system support `how` before much is written.
fn try_on_one_block(how: &str, home: &Home, pattern: &mut Pattern) -> Result<(), CaseError> {
    let [from, to] = [3, 4].map(|number| home.file(number));
    drop(pattern.write_file(&from, super::BLOCK)?);
    let copied = Copy::prepare(how, &from, &to)?.carry_out(super::BLOCK);
    copied.map_err(|e| CaseError::from_io(how, &e))?;
    for path in [from, to] {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Two files and the calls that copy one to the other.
enum Copy<'a> {
    /// Copied through a buffer of this process.
    Buffered(File, File, AlignedBuffer),
    /// Copied by a call that takes a number of bytes.
    InKernel(File, File, fn(&File, &File, usize) -> io::Result<usize>),
    /// Copied by sharing blocks.
    Shared(File, File),
    /// Copied by a call that takes two paths.
    ByName(&'a Path, &'a Path),
}

impl<'a> Copy<'a> {
    fn prepare(how: &str, from: &'a Path, to: &'a Path) -> Result<Self, CaseError> {
        let files =
            || -> io::Result<(File, File)> { Ok((File::open(from)?, File::create_new(to)?)) };
        Ok(match how {
            "CopyFileEx" => Self::ByName(from, to),
            _ => {
                let (from, to) = files().map_err(|e| CaseError::from_io("opening a file", &e))?;
                match how {
                    "copy_file_range" => Self::InKernel(from, to, copy_range),
                    "sendfile" => Self::InKernel(from, to, send_file),
                    "reflink" => Self::Shared(from, to),
                    _ => {
                        let mut buffer = AlignedBuffer::new(BUFFER);
                        buffer.fill(0); // touches the buffer before the timed copy
                        Self::Buffered(from, to, buffer)
                    }
                }
            }
        })
    }

    fn carry_out(&mut self, size: usize) -> io::Result<()> {
        match self {
            Self::Buffered(from, to, buffer) => loop {
                match from.read(buffer)? {
                    0 => return Ok(()),
                    got => to.write_all(&buffer[..got])?,
                }
            },
            Self::InKernel(from, to, call) => {
                let mut left = size;
                while left > 0 {
                    match call(from, to, left)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        copied => left -= copied,
                    }
                }
                Ok(())
            }
            Self::Shared(from, to) => reflink(from, to),
            Self::ByName(from, to) => copy_file_ex(from, to),
        }
    }
}

/// Whether a run measures the point: a quick run copies only in the usual way of the system.
fn includes(params: &Params, extent: Extent) -> bool {
    let usual = if IS_WINDOWS { "CopyFileEx" } else { "copy_file_range" };
    extent != Extent::Quick || value_of(params, "how") == Ok(usual)
}

/// Approximate duration of a trial, including writing the original and verifying the copy.
fn takes(params: &Params) -> Duration {
    const MIB: Duration = Duration::from_micros(1_500);
    match value_of(params, "how") {
        // A call that this system lacks takes no time.
        Ok("CopyFileEx") if IS_UNIX => Duration::ZERO,
        Ok("copy_file_range" | "sendfile" | "reflink") if IS_WINDOWS => Duration::ZERO,
        _ => MIB * size_of(params, "size").unwrap_or_default().div_ceil(PIECE) as u32,
    }
}
