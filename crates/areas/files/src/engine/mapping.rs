//! A mapping of the whole file, from which blocks are copied.

use std::io;
use std::path::Path;

use measure::CaseError;
use platform::file::mapping::FileMapping;

use super::reader::{BlockReader, Mode};
use crate::BLOCK;

struct Mapped {
    mapping: FileMapping,
    buffer: Box<[u8]>,
}

impl BlockReader for Mapped {
    #[inline]
    fn read(&mut self, offset: u64) -> io::Result<&[u8]> {
        let at = offset as usize;
        let from = self.mapping.get(at..at + BLOCK).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.buffer.copy_from_slice(from);
        Ok(&self.buffer)
    }
}

/// Maps the file, which has `size` bytes and must not change.
///
/// # Errors
/// `Unsupported` for direct reads; errors of mapping the file.
pub fn reader(path: &Path, size: usize, mode: Mode) -> Result<Box<dyn BlockReader>, CaseError> {
    if mode == Mode::Direct {
        let why = "a mapping is one of the cache: it cannot be read past it";
        return Err(CaseError::Unsupported(why.into()));
    }
    let file = mode.open(path)?;
    // SAFETY: the file is in the trial's own directory, has that length, and is only read from here on.
    let mapping = unsafe { FileMapping::new(&file, size) };
    let mapping = mapping.map_err(|e| CaseError::from_io("mmap of a file", &e))?;
    if mode == Mode::Cold {
        mapping.expect_random_reads();
    }
    Ok(Box::new(Mapped { mapping, buffer: vec![0; BLOCK].into() }))
}
