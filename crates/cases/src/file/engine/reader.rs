//! What engines have in common: how they are asked for blocks, and how the file is opened for them.

use std::fs::File;
use std::io;
use std::path::Path;

use measure::CaseError;
use platform::file_io::{Access, expect_random_reads, open_direct};

/// Reads one block at a time.
pub trait BlockReader: Send {
    /// Reads the block at `offset`.
    ///
    /// # Errors
    /// Those of the call; `UnexpectedEof` if it was not a whole block.
    fn read(&mut self, offset: u64) -> io::Result<&[u8]>;
}

/// Has several reads under way, each in a slot of its own.
pub trait ReadQueue {
    /// Begins to read the block at `offset`, at the latest with the next [`ReadQueue::wait`].
    ///
    /// # Errors
    /// Those of the call.
    fn submit(&mut self, slot: usize, offset: u64) -> io::Result<()>;

    /// Waits until at least one read is complete, and adds the slots of all that are to `done`.
    ///
    /// # Errors
    /// Those of the calls and of the reads; `UnexpectedEof` if one was not a whole block.
    fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()>;

    /// The block that was read in a slot, whose read must be complete.
    fn block(&self, slot: usize) -> &[u8];
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From the cache.
    Cached,
    /// Through the cache, which holds none of it at first.
    Cold,
    /// Past the cache.
    Direct,
}

impl Mode {
    /// Opens a file to be read so.
    ///
    /// # Errors
    /// Those of the call.
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
