//! pread(2), or ReadFile with a position.

use std::fs::File;
use std::io;

use platform::file::aligned::AlignedBuffer;
use platform::file::filesystem::read_at;

use super::reader::BlockReader;
use crate::BLOCK;

struct Pread {
    file: File,
    buffer: AlignedBuffer,
}

impl BlockReader for Pread {
    #[inline]
    fn read(&mut self, offset: u64) -> io::Result<&[u8]> {
        match read_at(&self.file, &mut self.buffer, offset)? {
            BLOCK => Ok(&self.buffer),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// A reader of `file`, which no other thread may use.
pub fn reader(file: File) -> Box<dyn BlockReader> {
    let mut buffer = AlignedBuffer::new(BLOCK);
    buffer.fill(0);
    Box::new(Pread { file, buffer })
}
