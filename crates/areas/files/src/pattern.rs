//! Contents of a large file: random bytes, which no file system can compress, and in each sector the number of its block, so that
//! a wrong block is detected.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use measure::{CaseError, Params};
use platform::file::aligned::AlignedBuffer;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::BLOCK;
use catalog::size_of;

/// Size in bytes of the pieces in which a file is read and written.
pub const PIECE: usize = 1 << 20;
/// Smallest unit that a device writes, in bytes.
const SECTOR: usize = 512;
const NUMBER: usize = std::mem::size_of::<u64>();

/// The contents of a file of any size, piece by piece.
pub struct Pattern {
    piece: AlignedBuffer,
}

impl Pattern {
    /// A generator of the contents that all files have.
    pub fn new() -> Self {
        let mut piece = AlignedBuffer::new(PIECE);
        StdRng::seed_from_u64(1).fill_bytes(&mut piece);
        Self { piece }
    }

    /// The piece of a file of `size` bytes that begins at a multiple of [`PIECE`]; the last may be shorter.
    pub fn piece(&mut self, nth: usize, size: usize) -> &[u8] {
        let first = (nth * (PIECE / BLOCK)) as u64;
        for (block, bytes) in (first..).zip(self.piece.chunks_mut(BLOCK)) {
            for sector in bytes.chunks_mut(SECTOR) {
                sector[..NUMBER].copy_from_slice(&block.to_le_bytes());
            }
        }
        &self.piece[..PIECE.min(size - nth * PIECE)]
    }

    /// Creates a file of `size` bytes.
    ///
    /// # Errors
    /// Errors of the system calls.
    pub fn write_file(&mut self, path: &Path, size: usize) -> Result<File, CaseError> {
        let created = File::create_new(path);
        let mut file = created.map_err(|e| CaseError::from_io("creating a file", &e))?;
        for nth in 0..pieces(size) {
            file.write_all(self.piece(nth, size))
                .map_err(|e| CaseError::from_io("writing a file", &e))?;
        }
        Ok(file)
    }

    /// Checks every byte of a file against the contents of a file of `size` bytes.
    ///
    /// # Errors
    /// Errors of the system calls; `Failed` if a byte differs.
    pub fn verify_file(&mut self, path: &Path, size: usize) -> Result<(), CaseError> {
        let mut file = File::open(path)?;
        let had = file.metadata()?.len();
        if had != size as u64 {
            return Err(CaseError::Failed(format!("a file of {size} bytes has {had}")));
        }
        let mut read = AlignedBuffer::new(PIECE);
        for nth in 0..pieces(size) {
            let expected = self.piece(nth, size);
            let read = &mut read[..expected.len()];
            file.read_exact(read).map_err(|e| CaseError::from_io("reading a file", &e))?;
            if read != expected {
                return Err(CaseError::Failed(format!(
                    "a file has other contents than were written within 1 MiB of offset {}",
                    nth * PIECE
                )));
            }
        }
        Ok(())
    }
}

/// The number of pieces of a file.
pub fn pieces(size: usize) -> usize {
    size.div_ceil(PIECE)
}

/// Whether each sector of `bytes` has the number of that block.
#[inline]
pub fn is_block(bytes: &[u8], number: u64) -> bool {
    let expected = number.to_le_bytes();
    bytes.len() == BLOCK && bytes.chunks(SECTOR).all(|sector| sector[..NUMBER] == expected)
}

/// Whether all blocks of a piece of a file have the right numbers.
pub fn has_blocks_of(nth: usize, piece: &[u8]) -> bool {
    let first = (nth * (PIECE / BLOCK)) as u64;
    (first..).zip(piece.chunks(BLOCK)).all(|(number, bytes)| is_block(bytes, number))
}

/// The parameter `size`, which must be a multiple of the block size.
///
/// # Errors
/// `Failed` if it is not, or is 0.
pub fn whole_blocks(params: &Params) -> Result<usize, CaseError> {
    match size_of(params, "size")? {
        size if size > 0 && size.is_multiple_of(BLOCK) => Ok(size),
        size => Err(CaseError::Failed(format!("a size of {size} is no multiple of {BLOCK}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_known_by_each_of_its_sectors() {
        let mut pattern = Pattern::new();
        let size = PIECE + 3 * BLOCK;
        let second = pattern.piece(1, size).to_vec();
        assert_eq!((pieces(size), second.len()), (2, 3 * BLOCK));
        assert!(has_blocks_of(1, &second) && !has_blocks_of(0, &second));
        let mut block = second[BLOCK..2 * BLOCK].to_vec();
        assert!(is_block(&block, 257) && !is_block(&block, 256) && !is_block(&block[1..], 257));
        for sector in 0..BLOCK / SECTOR {
            block[sector * SECTOR] ^= 2;
            assert!(!is_block(&block, 257), "sector {sector}");
            block[sector * SECTOR] ^= 2;
        }
    }

    #[test]
    fn any_changed_byte_of_a_file_is_found() {
        let path = std::env::temp_dir().join(format!("oscost-test-pattern-{}", std::process::id()));
        let size = PIECE + BLOCK;
        let mut pattern = Pattern::new();
        pattern.write_file(&path, size).unwrap();
        pattern.verify_file(&path, size).unwrap();
        assert!(pattern.verify_file(&path, size + BLOCK).is_err());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[PIECE + 1_000] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let failed = pattern.verify_file(&path, size).unwrap_err().to_string();
        assert!(failed.contains("offset 1048576"), "{failed}");
        std::fs::remove_file(&path).unwrap();
    }
}
