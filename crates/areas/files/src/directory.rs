//! The new directory of a trial, and the check for free space.

use std::path::{Path, PathBuf};

use measure::{CaseError, Params, Round};
use platform::cleanup::Directory;
use platform::file::filesystem::{self, Room};

use super::contents::Contents;
use catalog::{count_of, directory_of, size_of, value_of};

/// The case with two files of its `size`: the original and the copy.
pub const COPY: &str = "file/copy";
/// Number of files of the case [`COPY`].
pub const COPIED_FILES: usize = 2;

/// Number of files in the counting pass: counting is slow, and all files make the same calls.
const COUNTED_FILES: usize = 100;
/// Maximum number of files on disk per file of the trial: a synced file has an unsynced twin for a while.
const AT_ONCE: usize = 2;
/// Bytes that a file takes besides its blocks, for its inode and its directory entry.
const BYTES_BESIDES: u64 = 512;
/// Inodes reserved for directories, and for files that other programs create meanwhile.
const SPARE_FILES: u64 = 300;
const SPARE_BYTES: u64 = 4 << 20;

/// The reason why a point of this area cannot be measured, checked before anything is written; `None` if it can.
pub fn obstacle(case: &str, params: &Params) -> Option<CaseError> {
    let asked = || -> Result<Option<CaseError>, CaseError> {
        let parent = directory_of(value_of(params, "dir")?);
        let size = if params.contains_key("size") { size_of(params, "size")? } else { 0 };
        let files = match params.contains_key("files") {
            true => count_of(params, "files")? * AT_ONCE,
            false if case == COPY => COPIED_FILES,
            false => 1,
        };
        Ok(shortage(&parent, files, size).err())
    };
    asked().unwrap_or_else(Some)
}

fn shortage(parent: &Path, files: usize, size: usize) -> Result<(), CaseError> {
    let found = filesystem::room_in(parent);
    let room = found.map_err(|e| CaseError::Failed(format!("{}: {e}", parent.display())))?;
    lack(&room, files as u64, size as u64)
        .map_or(Ok(()), |lack| Err(CaseError::Failed(format!("{}: {lack}", parent.display()))))
}

/// The resource that is insufficient for `files` files of `size` bytes, as text.
fn lack(room: &Room, files: u64, size: u64) -> Option<String> {
    let each = size.next_multiple_of(room.block_bytes.max(1)) + BYTES_BESIDES;
    let bytes = files * each + SPARE_BYTES;
    let inodes = files + SPARE_FILES;
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let need = if files == 1 { "1 file needs".to_owned() } else { format!("{files} files need") };
    if room.free_bytes < bytes {
        let (needed, free) = (mib(bytes), room.free_bytes >> 20);
        return Some(format!("{need} {needed} MiB and {free} MiB are free"));
    }
    room.free_files
        .filter(|&free| free < inodes)
        .map(|free| format!("{need} {inodes} inodes and {free} are free"))
}

/// A new directory with space for files. It is removed with everything in it when dropped.
pub struct Home {
    /// Removes the directory and its contents when dropped.
    directory: Directory,
    path: PathBuf,
}

impl Home {
    /// Creates a directory in that of the parameter `dir`, with space for `files` files of `size` bytes.
    ///
    /// # Errors
    /// A parent that does not exist, is not writable, or has too little free space.
    pub fn with_room(params: &Params, files: usize, size: usize) -> Result<Self, CaseError> {
        let parent = directory_of(value_of(params, "dir")?);
        shortage(&parent, files, size)?;
        let directory = Directory::new_in(&parent).map_err(|e| {
            CaseError::Failed(format!("creating a directory in {}: {e}", parent.display()))
        })?;
        let path = make(directory.path().join(Directory::home()))?;
        Ok(Self { directory, path })
    }

    /// Like [`Home::with_room`], for many files or directories, whose removal leaves traces in the file system: if the run's
    /// cleanup removes it later, the empty directory stays until then, so that the next trial uses another place of the device.
    ///
    /// # Errors
    /// Errors of [`Home::with_room`].
    pub fn of_many(
        params: &Params,
        files: usize,
        size: usize,
        round: &Round,
    ) -> Result<Self, CaseError> {
        let mut home = Self::with_room(params, files, size)?;
        if round.order().is_here {
            home.directory.keep_home();
        }
        Ok(home)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in the directory, by its number.
    pub fn file(&self, number: usize) -> PathBuf {
        self.path.join(Directory::file(false, number))
    }

    /// Refuses file systems in memory, which have no device to write to or to read from.
    ///
    /// # Errors
    /// `Unsupported` if the directory is on such a file system.
    pub fn refuse_in_memory(&self) -> Result<(), CaseError> {
        match filesystem::of(&self.path)?.kind {
            Some(kind) if filesystem::is_in_memory(&kind) => Err(CaseError::Unsupported(format!(
                "{kind} stores files in memory only and has no device"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses file systems on which a read may not come from the device: those in memory, and those with a cache that cannot be
    /// examined.
    ///
    /// # Errors
    /// `Unsupported` for such a file system, or one of unknown kind.
    pub fn refuse_uncertain_cache(&self) -> Result<(), CaseError> {
        self.refuse_in_memory()?;
        match filesystem::of(&self.path)?.kind {
            None => Err(CaseError::Unsupported("the kind of file system is not known".into())),
            Some(kind) if filesystem::keeps_own_cache(&kind) => Err(CaseError::Unsupported(
                format!("{kind} has a cache of its own, which mincore does not show"),
            )),
            Some(_) => Ok(()),
        }
    }
}

/// The new directory of a trial of many files, and their contents.
pub struct Fresh {
    home: Home,
    /// Number of files, which is small in the untimed pass.
    pub files: usize,
    /// Contents of the files.
    pub contents: Contents,
}

impl Fresh {
    /// Creates the directory that the parameters `dir`, `files` and `size` describe.
    ///
    /// # Errors
    /// Errors of [`Home::with_room`].
    pub fn of(params: &Params, round: &Round) -> Result<Self, CaseError> {
        let (files, size) = (count_of(params, "files")?, size_of(params, "size")?);
        let files = match round.is_counting() {
            true => round.operations_to_count(COUNTED_FILES, files),
            false => files,
        };
        let home = Home::of_many(params, files * AT_ONCE, size, round)?;
        let contents = Contents::new(files, size);
        Ok(Self { home, files, contents })
    }

    /// The directory itself.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Creates a subdirectory by its number.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn branch(&self, number: usize) -> Result<PathBuf, CaseError> {
        make(self.path().join(Directory::branch(number)))
    }
}

/// Creates a directory.
///
/// # Errors
/// The error of the system call.
pub fn make(path: PathBuf) -> Result<PathBuf, CaseError> {
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
        let said = lack(&room, 1, 64 << 20).unwrap();
        assert_eq!(said, "1 file needs 69 MiB and 64 MiB are free");
    }
}
