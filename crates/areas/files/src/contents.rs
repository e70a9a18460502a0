//! The contents of the files: random bytes, different in each file, so that a mix-up is detected.

use measure::CaseError;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Distance between the beginnings of two consecutive files in the random bytes.
const STEP: usize = 64;

/// The contents of the files, each a slice of the same random bytes, and their checksums.
pub struct Contents {
    bytes: Vec<u8>,
    size: usize,
    checksums: Vec<u32>,
}

impl Contents {
    /// The contents of `files` files of `size` bytes.
    pub fn new(files: usize, size: usize) -> Self {
        let mut bytes = vec![0u8; size + files * STEP];
        // The bytes are random, so that a file system cannot compress them.
        StdRng::seed_from_u64(1).fill_bytes(&mut bytes);
        let mut all = Self { bytes, size, checksums: Vec::new() };
        all.checksums = (0..files).map(|number| crc32fast::hash(all.of(number))).collect();
        all
    }

    /// The size of each file in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The contents of a file.
    pub fn of(&self, number: usize) -> &[u8] {
        &self.bytes[number * STEP..][..self.size]
    }

    /// Checks the bytes read from a file.
    ///
    /// # Errors
    /// `Failed` if they differ from its contents.
    pub fn verify(&self, number: usize, read: &[u8]) -> Result<(), CaseError> {
        if read.len() != self.size {
            let (had, has) = (self.size, read.len());
            return Err(CaseError::Failed(format!(
                "{had} bytes were written to a file, and {has} were read back"
            )));
        }
        if crc32fast::hash(read) != self.checksums[number] {
            return Err(CaseError::Failed(
                "the bytes read back from a file differ from those written".into(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_length_or_file_is_detected() {
        let contents = Contents::new(3, 1_024);
        let mut read = contents.of(1).to_vec();
        assert_eq!(contents.verify(1, &read), Ok(()));
        assert!(contents.verify(0, &read).is_err(), "that of another file");
        assert!(contents.verify(1, &read[..1_023]).is_err(), "cut short");
        read.push(0);
        assert!(contents.verify(1, &read).is_err(), "too long");
        read.pop();
        for at in [0, 511, 1_023] {
            read[at] ^= 1;
            assert!(contents.verify(1, &read).is_err(), "byte {at}");
            read[at] ^= 1;
        }
        assert_eq!(Contents::new(2, 0).verify(1, &[]), Ok(()));
    }
}
