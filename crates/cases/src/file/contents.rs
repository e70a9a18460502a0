//! What is in the files: random bytes, different in each, so that one taken for another is found.

use measure::CaseError;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How far the contents of one file begin after those of the one before.
const STEP: usize = 64;

/// The contents of files, each a stretch of the same random bytes, and their checksums.
pub struct Contents {
    bytes: Vec<u8>,
    size: usize,
    checksums: Vec<u32>,
}

impl Contents {
    /// Of so many files of that size.
    pub fn new(files: usize, size: usize) -> Self {
        let mut bytes = vec![0u8; size + files * STEP];
        // Nothing that a file system could compress.
        StdRng::seed_from_u64(1).fill_bytes(&mut bytes);
        let mut all = Self { bytes, size, checksums: Vec::new() };
        all.checksums = (0..files).map(|number| crc32fast::hash(all.of(number))).collect();
        all
    }

    /// Bytes in each.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What is to be in a file.
    pub fn of(&self, number: usize) -> &[u8] {
        &self.bytes[number * STEP..][..self.size]
    }

    /// Whether that is what was read from it.
    ///
    /// # Errors
    /// `Failed` if it is not.
    pub fn verify(&self, number: usize, read: &[u8]) -> Result<(), CaseError> {
        if read.len() != self.size {
            let (had, has) = (self.size, read.len());
            return Err(CaseError::Failed(format!(
                "of the {had} bytes written to a file, {has} were there when it was read back"
            )));
        }
        if crc32fast::hash(read) != self.checksums[number] {
            return Err(CaseError::Failed(
                "a file had other contents when it was read back than were written".into(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_byte_length_or_file_is_noticed() {
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
