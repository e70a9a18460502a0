//! The new directory of a trial, and the check for free space.

use std::path::{Path, PathBuf};

use measure::{CaseError, Params, Round};
use platform::cleanup::Directory;
use platform::filesystem::{self, Room};

use super::contents::Contents;
use crate::{count_of, size_of, value_of};

/// The value of `dir` for the system's directory for temporary files.
pub const TEMP: &str = "temp";

/// The number of files in the untimed pass, in which calls are slow and all files make the same calls.
const COUNTED_FILES: usize = 100;
/// The maximum number of files per file of the trial: a synced file has an unsynced twin for a while.
const AT_ONCE: usize = 2;
/// The bytes that a file takes besides its blocks, for its inode and its directory entry.
const BYTES_BESIDES: u64 = 512;
/// Reserve for directories, and for files that other programs create meanwhile.
const SPARE_FILES: u64 = 300;
const SPARE_BYTES: u64 = 4 << 20;

/// The directory that a value of `dir` stands for.
pub fn path_of(value: &str) -> PathBuf {
    if value == TEMP { std::env::temp_dir() } else { PathBuf::from(value) }
}

/// Checks before anything is written whether a point of this area can be measured; `None` if it can, otherwise the
/// reason.
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

/// The resource that is insufficient for `files` files of `size` bytes, as a message.
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

/// A new directory with space for the files of a trial, and their contents. It is removed when dropped.
pub struct Fresh {
    /// Removes the directory and everything in it.
    _directory: Directory,
    home: PathBuf,
    /// The number of files, which is small in the untimed pass.
    pub files: usize,
    /// The contents of the files.
    pub contents: Contents,
}

impl Fresh {
    /// Creates the directory that the parameters `dir`, `files` and `size` describe.
    ///
    /// # Errors
    /// If the parent does not exist, is not writable, or has too little free space.
    pub fn of(params: &Params, round: &Round) -> Result<Self, CaseError> {
        let parent = path_of(value_of(params, "dir")?);
        let (files, size) = (count_of(params, "files")?, size_of(params, "size")?);
        let files = if round.is_counting() { files.min(COUNTED_FILES) } else { files };
        shortage(&parent, files * AT_ONCE, size)?;
        let directory = Directory::new_in(&parent).map_err(|e| {
            CaseError::Failed(format!("creating a directory in {}: {e}", parent.display()))
        })?;
        let home = make(directory.path().join(Directory::home()))?;
        let contents = Contents::new(files, size);
        Ok(Self { _directory: directory, home, files, contents })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.home
    }

    /// Creates a subdirectory by its number.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn branch(&self, number: usize) -> Result<PathBuf, CaseError> {
        make(self.path().join(Directory::branch(number)))
    }
}

fn make(path: PathBuf) -> Result<PathBuf, CaseError> {
    std::fs::create_dir(&path).map_err(|e| CaseError::from_io("creating a directory", &e))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_counted_in_whole_blocks_and_inodes() {
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
