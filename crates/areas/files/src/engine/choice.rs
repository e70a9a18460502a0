//! Selection of an engine by its name.

use std::path::Path;

use measure::CaseError;

use super::reader::{BlockReader, Mode, ReadQueue};
use super::{io_uring, mapping, overlapped, posix_aio, pread};

/// An engine, ready to read.
pub enum Engine {
    /// One read at a time.
    Blocking(Box<dyn BlockReader>),
    /// Up to `depth` reads at once.
    Queue(Box<dyn ReadQueue>),
    /// One read at a time in each of several threads.
    Threads(Vec<Box<dyn BlockReader>>),
}

impl Engine {
    /// Creates the engine with this name, for a file of `size` bytes and up to `depth` reads at once.
    ///
    /// # Errors
    /// `Unsupported` if this system lacks the engine, or the engine lacks the mode.
    pub fn new(
        name: &str,
        path: &Path,
        size: usize,
        mode: Mode,
        depth: usize,
    ) -> Result<Self, CaseError> {
        let blocking = matches!(name, "pread" | "mmap");
        if blocking && depth > 1 {
            return Err(CaseError::Unsupported(format!(
                "{name} has one read under way: its depth is 1"
            )));
        }
        let reader = || mode.open(path).map(pread::reader);
        Ok(match name {
            "pread" => Self::Blocking(reader()?),
            "threads" => Self::Threads((0..depth).map(|_| reader()).collect::<Result<_, _>>()?),
            "mmap" => Self::Blocking(mapping::reader(path, size, mode)?),
            "posix-aio" => Self::Queue(posix_aio::queue(mode.open(path)?, depth)?),
            "io_uring" => Self::Queue(io_uring::queue(mode.open(path)?, depth)?),
            "overlapped" => Self::Queue(overlapped::queue(path, mode, depth)?),
            other => return Err(CaseError::Failed(format!("no engine is named {other}"))),
        })
    }
}
