//! The fresh directory of a trial, and whether there is room for it.

use std::path::{Path, PathBuf};

use measure::{CaseError, Params, Round};
use platform::cleanup::Directory;
use platform::filesystem::{self, Room};

use super::contents::Contents;
use crate::{count_of, size_of, value_of};

/// The word for the system's directory for temporary files.
pub const TEMP: &str = "temp";

/// In the untimed pass each call is slowed a lot, and all files are alike.
const COUNTED_FILES: usize = 100;
/// Beside a file with sync there is for a while one without.
const AT_ONCE: usize = 2;
/// What a file takes besides its blocks: its inode and its name.
const BYTES_BESIDES: u64 = 512;
/// Directories, and what others make meanwhile.
const SPARE_FILES: u64 = 300;
const SPARE_BYTES: u64 = 4 << 20;

/// The directory that a value of `dir` stands for.
pub fn path_of(value: &str) -> PathBuf {
    if value == TEMP { std::env::temp_dir() } else { PathBuf::from(value) }
}

/// Why a point of this area cannot be measured, before anything is written; `None` if it can.
pub fn obstacle(params: &Params) -> Option<CaseError> {
    let asked = || -> Result<Option<CaseError>, CaseError> {
        let parent = path_of(value_of(params, "dir")?);
        let (files, size) = (count_of(params, "files")?, size_of(params, "size")?);
        Ok(shortage(&parent, files * AT_ONCE, size).err())
    };
    asked().unwrap_or_else(Some)
}

fn shortage(parent: &Path, files: usize, size: usize) -> Result<(), CaseError> {
    let found = filesystem::room_in(parent);
    let room = found.map_err(|e| CaseError::Failed(format!("{}: {e}", parent.display())))?;
    lack(&room, files as u64, size as u64)
        .map_or(Ok(()), |lack| Err(CaseError::Failed(format!("{}: {lack}", parent.display()))))
}

/// What there is too little of for so many files of that size, in words.
fn lack(room: &Room, files: u64, size: u64) -> Option<String> {
    let each = size.next_multiple_of(room.block_bytes.max(1)) + BYTES_BESIDES;
    let bytes = files * each + SPARE_BYTES;
    let inodes = files + SPARE_FILES;
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    if room.free_bytes < bytes {
        let (needed, free) = (mib(bytes), room.free_bytes >> 20);
        return Some(format!("{files} files need {needed} MiB and {free} MiB are free"));
    }
    room.free_files
        .filter(|&free| free < inodes)
        .map(|free| format!("{files} files need {inodes} inodes and {free} are free"))
}

/// A fresh directory with room for the files of a trial, and what is to be in these; gone when dropped.
pub struct Fresh {
    /// Removes all that is in it.
    _directory: Directory,
    home: PathBuf,
    /// How many files there are to be; few in the untimed pass.
    pub files: usize,
    /// What is to be in them.
    pub contents: Contents,
}

impl Fresh {
    /// As the parameters `dir`, `files` and `size` say.
    ///
    /// # Errors
    /// Where there is no such directory, too little room in it, or it may not be written to.
    pub fn of(params: &Params, round: &Round) -> Result<Self, CaseError> {
        let parent = path_of(value_of(params, "dir")?);
        let (files, size) = (count_of(params, "files")?, size_of(params, "size")?);
        let files = if round.is_counting() { files.min(COUNTED_FILES) } else { files };
        shortage(&parent, files * AT_ONCE, size)?;
        let directory = Directory::new_in(&parent).map_err(|e| {
            CaseError::Failed(format!("making a directory in {}: {e}", parent.display()))
        })?;
        let home = make(directory.path().join(Directory::home()))?;
        let contents = Contents::new(files, size);
        Ok(Self { _directory: directory, home, files, contents })
    }

    /// Where its files are to be.
    pub fn path(&self) -> &Path {
        &self.home
    }

    /// A directory in it, by its number.
    ///
    /// # Errors
    /// Those of making a directory.
    pub fn branch(&self, number: usize) -> Result<PathBuf, CaseError> {
        make(self.path().join(Directory::branch(number)))
    }
}

fn make(path: PathBuf) -> Result<PathBuf, CaseError> {
    std::fs::create_dir(&path).map_err(|e| CaseError::from_io("making a directory", &e))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_asked_for_by_whole_blocks_and_inodes() {
        let room = Room { block_bytes: 4096, free_bytes: 64 << 20, free_files: Some(10_300) };
        assert_eq!(lack(&room, 10_000, 4096), None);
        assert_eq!(lack(&room, 10_000, 1), None);
        let said = lack(&room, 10_000, 4097).unwrap();
        assert_eq!(said, "10000 files need 88 MiB and 64 MiB are free");
        let few = Room { free_files: Some(10_299), ..room };
        let said = lack(&few, 10_000, 0).unwrap();
        assert_eq!(said, "10000 files need 10300 inodes and 10299 are free");
        assert_eq!(lack(&Room { free_files: None, ..room }, 10_000, 0), None);
    }
}
