//! The phases of a trial. Only the closures passed to [`Times::of_one`] and [`Times::of`] are timed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::CaseError;
use measure::time::{Clock, Stopwatch};
use platform::cleanup::Directory;
use platform::file::filesystem::count_entries;

use super::contents::Contents;
use super::directory::Fresh;

/// A phase of a trial: all files go through it before the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Files are created and written.
    Create,
    /// Files are read as a whole, and verified off the clock.
    Read,
    /// Metadata of the files are read.
    Stat,
    /// Files are renamed within their directory.
    Rename,
    /// All directories are read; one operation is one name.
    List,
    /// Files are deleted.
    Delete,
}

impl Phase {
    /// All phases, in the order in which they run.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Read, Self::Stat, Self::Rename, Self::List, Self::Delete];
}

/// The files of one thread.
pub struct FileShard<'a> {
    contents: &'a Contents,
    /// Each file with its number, its path and its new path.
    pub files: Vec<(usize, PathBuf, PathBuf)>,
    /// Directories of the files, each with its number of entries.
    folders: Vec<(PathBuf, usize)>,
}

impl<'a> FileShard<'a> {
    /// Files with these numbers, in the new directory itself.
    pub fn flat(fresh: &'a Fresh, numbers: Range<usize>) -> Self {
        Self::new(fresh, vec![(fresh.path().to_owned(), fresh.files)], numbers)
    }

    /// Files with these numbers, in a subdirectory.
    ///
    /// # Errors
    /// The error of the call that creates the directory.
    pub fn in_branch(
        fresh: &'a Fresh,
        branch: usize,
        numbers: Range<usize>,
    ) -> Result<Self, CaseError> {
        let folders = vec![(fresh.branch(branch)?, numbers.len())];
        Ok(Self::new(fresh, folders, numbers))
    }

    /// All files, spread in turn over `branches` subdirectories.
    ///
    /// # Errors
    /// The error of the call that creates a directory.
    pub fn fanned(fresh: &'a Fresh, branches: usize) -> Result<Self, CaseError> {
        let each = |branch: usize| (fresh.files + branches - 1 - branch) / branches;
        let folders = (0..branches).map(|branch| Ok((fresh.branch(branch)?, each(branch))));
        Ok(Self::new(fresh, folders.collect::<Result<_, CaseError>>()?, 0..fresh.files))
    }

    fn new(fresh: &'a Fresh, folders: Vec<(PathBuf, usize)>, numbers: Range<usize>) -> Self {
        let file = |number: usize| {
            let folder = &folders[number % folders.len()].0;
            let name = |renamed| folder.join(Directory::file(renamed, number));
            (number, name(false), name(true))
        };
        Self { contents: &fresh.contents, files: numbers.map(file).collect(), folders }
    }

    /// The contents of a file.
    pub fn contents(&self, number: usize) -> &'a [u8] {
        self.contents.of(number)
    }

    /// The size of each file in bytes.
    pub fn size(&self) -> usize {
        self.contents.size()
    }

    /// Checks the bytes read from a file, off the clock.
    ///
    /// # Errors
    /// `Failed` if they differ from the file's contents.
    pub fn verify(&self, number: usize, read: &[u8], times: &mut Times) -> Result<(), CaseError> {
        let watch = Stopwatch::start_on(times.clock);
        let verified = self.contents.verify(number, read);
        times.aside_ns += watch.stop().get();
        verified
    }

    /// Reads all directories and checks that they have as many entries as there are files.
    fn list(&self, times: &mut Times) -> Result<(), CaseError> {
        for (folder, files) in &self.folders {
            let count = times.of(*files, "reading a directory", || count_entries(folder))?;
            if count != *files {
                return Err(CaseError::Failed(format!("listing {files} files gave {count} names")));
            }
        }
        Ok(())
    }
}

/// The operations of the phases; by default one file at a time with ordinary calls.
pub trait FileOps: Send {
    /// Creates and writes all files.
    ///
    /// # Errors
    /// Errors of the system calls.
    fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (number, name, _) in &shard.files {
            let contents = shard.contents(*number);
            times.of_one("creating a file", || create(name, contents).map(drop))?;
        }
        Ok(())
    }

    /// Reads and verifies all files.
    ///
    /// # Errors
    /// Errors of the system calls; `Failed` if the contents of a file are wrong.
    fn read(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        let mut buffer = vec![0; shard.size() + 1];
        for (number, name, _) in &shard.files {
            let got = times.of_one("reading a file", || read(name, &mut buffer, shard.size()))?;
            shard.verify(*number, &buffer[..got], times)?;
        }
        Ok(())
    }

    /// Reads the metadata of all files and checks their size.
    ///
    /// # Errors
    /// Errors of the system calls; `Failed` if a size is wrong.
    fn stat(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, name, _) in &shard.files {
            let facts = times.of_one("stat of a file", || fs::metadata(name))?;
            expect_size(shard, facts.len())?;
        }
        Ok(())
    }

    /// Renames all files.
    ///
    /// # Errors
    /// Errors of the system calls.
    fn rename(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, name, new_name) in &shard.files {
            times.of_one("renaming a file", || fs::rename(name, new_name))?;
        }
        Ok(())
    }

    /// Deletes all files by their new names.
    ///
    /// # Errors
    /// Errors of the system calls.
    fn delete(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, _, name) in &shard.files {
            times.of_one("deleting a file", || fs::remove_file(name))?;
        }
        Ok(())
    }
}

/// Operations on one file at a time, with ordinary calls.
pub struct Plain;

impl FileOps for Plain {}

/// Carries out a phase.
///
/// # Errors
/// Errors of the phase.
pub fn carry_out(
    phase: Phase,
    shard: &FileShard,
    way: &mut dyn FileOps,
    times: &mut Times,
) -> Result<(), CaseError> {
    match phase {
        Phase::Create => way.create(shard, times),
        Phase::Read => way.read(shard, times),
        Phase::Stat => way.stat(shard, times),
        Phase::Rename => way.rename(shard, times),
        Phase::List => shard.list(times),
        Phase::Delete => way.delete(shard, times),
    }
}

/// Creates a file with these contents and returns it open.
#[inline]
pub fn create(name: &Path, contents: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(name)?;
    file.write_all(contents)?;
    Ok(file)
}

/// Reads a file that should have `size` bytes into a buffer of one byte more. Returns the number of bytes read.
#[inline]
pub fn read(name: &Path, buffer: &mut [u8], size: usize) -> io::Result<usize> {
    let mut file = File::open(name)?;
    let mut got = file.read(buffer)?;
    while got < size {
        match file.read(&mut buffer[got..])? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Checks the size of a file.
///
/// # Errors
/// `Failed` if the size is wrong.
pub fn expect_size(shard: &FileShard, size: u64) -> Result<(), CaseError> {
    if size == shard.size() as u64 {
        return Ok(());
    }
    Err(CaseError::Failed(format!(
        "stat reported {size} bytes for a file of {} bytes",
        shard.size()
    )))
}

/// Times of the operations of a phase.
#[derive(Debug, Clone)]
pub struct Times {
    clock: Clock,
    /// Cost of a clock read in ns, which is subtracted.
    clock_ns: f64,
    /// Time of each operation in ns; each operation of a batch has the time of the batch.
    pub ns: Vec<f64>,
    /// Sum of all times in ns, each batch counted once.
    pub sum_ns: f64,
    /// Number of operations.
    pub count: usize,
    /// CPU time in ns spent between operations, such as on verification.
    pub aside_ns: f64,
}

impl Times {
    /// An empty record with capacity for `operations` operations.
    pub fn new(clock: Clock, clock_ns: f64, operations: usize) -> Self {
        let ns = Vec::with_capacity(operations);
        Self { clock, clock_ns, ns, sum_ns: 0.0, count: 0, aside_ns: 0.0 }
    }

    /// Times one operation.
    ///
    /// # Errors
    /// The error of the operation, with its description.
    #[inline(always)]
    pub fn of_one<T>(
        &mut self,
        what: &str,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, CaseError> {
        self.of(1, what, operation)
    }

    /// Times a batch of operations, each of which is complete when all are.
    ///
    /// # Errors
    /// The error of the operation, with its description.
    #[inline(always)]
    pub fn of<T>(
        &mut self,
        operations: usize,
        what: &str,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, CaseError> {
        let start = self.clock.now();
        let done = operation();
        let end = self.clock.now();
        let took = (self.clock.between(start, end).get() - self.clock_ns).max(0.0);
        self.sum_ns += took;
        self.count += operations;
        self.ns.extend(std::iter::repeat_n(took, operations));
        done.map_err(|e| CaseError::from_io(what, &e))
    }

    /// The total time of all operations.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns as u64)
    }
}
