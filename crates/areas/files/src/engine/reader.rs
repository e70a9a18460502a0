//! Interface of the engines, and how they open the file.

use std::fs::File;
use std::io;
use std::path::Path;

use measure::CaseError;
use platform::file::io::{Access, expect_random_reads, open_direct};

/// Reads one block at a time.
pub trait BlockReader: Send {
    /// Reads the block at `offset`.
    ///
    /// # Errors
    /// The error of the call; `UnexpectedEof` if it returned less than a whole block.
    fn read(&mut self, offset: u64) -> io::Result<&[u8]>;
}

/// Has several reads under way at once, each in its own slot.
pub trait ReadQueue {
    /// Begins to read the block at `offset`, at the latest with the next [`ReadQueue::wait`].
    ///
    /// # Errors
    /// The error of the call.
    fn submit(&mut self, slot: usize, offset: u64) -> io::Result<()>;

    /// Waits until at least one read is complete, and adds the slots of all complete reads to `done`.
    ///
    /// # Errors
    /// Errors of the calls and of the reads; `UnexpectedEof` if a read returned less than a whole block.
    fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()>;

    /// The block that was read into a slot, whose read must be complete.
    fn block(&self, slot: usize) -> &[u8];
}

/// Whether a file is read through the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Read from the cache.
    Cached,
    /// Read through the cache, which is empty at first.
    Cold,
    /// Read directly from the device, without the cache.
    Direct,
}

impl Mode {
    /// Opens a file for reading in this mode.
    ///
    /// # Errors
    /// The error of the call.
    pub fn open(self, path: &Path) -> Result<File, CaseError> {
        if self == Self::Direct {
            return open_direct(path, Access::Read);
        }
        let file = File::open(path).map_err(|e| CaseError::from_io("opening a file", &e))?;
        if self == Self::Cold {
            expect_random_reads(&file);
        }
        Ok(file)
    }
}
