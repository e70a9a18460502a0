//! The phases of a trial. What is on the clock are the closures given to [`Times::of_one`], and nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::CaseError;
use measure::time::{Clock, Stopwatch};
use platform::cleanup::Directory;
use platform::filesystem::count_entries;

use super::contents::Contents;
use super::directory::Fresh;

/// A phase of a trial: all files go through it before the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Created and written.
    Create,
    /// Read as a whole, and verified off the clock.
    Read,
    /// Asked for its size.
    Stat,
    /// Given another name in the same directory.
    Rename,
    /// All directories read; one operation is one name.
    List,
    /// Deleted.
    Delete,
}

impl Phase {
    /// In the order in which they come.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Read, Self::Stat, Self::Rename, Self::List, Self::Delete];
}

/// The files of one thread.
pub struct FileShard<'a> {
    contents: &'a Contents,
    /// Each with its number, its name and the one it is renamed to.
    pub files: Vec<(usize, PathBuf, PathBuf)>,
    /// The directories they are in, with how many entries each has.
    folders: Vec<(PathBuf, usize)>,
}

impl<'a> FileShard<'a> {
    /// Those of the fresh directory with these numbers, in it.
    ///
    /// # Errors
    /// None so far.
    pub fn flat(fresh: &'a Fresh, numbers: Range<usize>) -> Result<Self, CaseError> {
        let folder = fresh.path().to_owned();
        let folders = vec![(folder, fresh.files)];
        Ok(Self::new(fresh, folders, numbers))
    }

    /// Those with these numbers, in a directory in it.
    ///
    /// # Errors
    /// Those of making a directory.
    pub fn in_branch(
        fresh: &'a Fresh,
        branch: usize,
        numbers: Range<usize>,
    ) -> Result<Self, CaseError> {
        let folders = vec![(fresh.branch(branch)?, numbers.len())];
        Ok(Self::new(fresh, folders, numbers))
    }

    /// All of them, by turns in so many directories in it.
    ///
    /// # Errors
    /// Those of making a directory.
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

    /// What is to be in a file.
    pub fn contents(&self, number: usize) -> &'a [u8] {
        self.contents.of(number)
    }

    /// Bytes in each file.
    pub fn size(&self) -> usize {
        self.contents.size()
    }

    /// Whether that is what is to be in a file; off the clock.
    ///
    /// # Errors
    /// `Failed` if it is not.
    pub fn verify(&self, number: usize, read: &[u8], times: &mut Times) -> Result<(), CaseError> {
        let watch = Stopwatch::start_on(times.clock);
        let verified = self.contents.verify(number, read);
        times.aside_ns += watch.stop().get();
        verified
    }

    /// Reads all directories, which must have as many entries as there are files.
    fn list(&self, times: &mut Times) -> Result<(), CaseError> {
        for (folder, files) in &self.folders {
            let count = times.of(*files, "reading a directory", || count_entries(folder))?;
            if count != *files {
                return Err(CaseError::Failed(format!("of {files} files {count} were listed")));
            }
        }
        Ok(())
    }
}

/// How files are dealt with: unless said otherwise, one at a time with ordinary calls.
pub trait FileOps: Send {
    /// Creates and writes all files.
    ///
    /// # Errors
    /// Those of the calls.
    fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (number, name, _) in &shard.files {
            let contents = shard.contents(*number);
            times.of_one("creating a file", || create(name, contents).map(drop))?;
        }
        Ok(())
    }

    /// Reads all files; each must be as it was written.
    ///
    /// # Errors
    /// Those of the calls; `Failed` if a file is not as it was written.
    fn read(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        let mut buffer = vec![0; shard.size() + 1];
        for (number, name, _) in &shard.files {
            let got = times.of_one("reading a file", || read(name, &mut buffer, shard.size()))?;
            shard.verify(*number, &buffer[..got], times)?;
        }
        Ok(())
    }

    /// Asks for the size of all files, which must be what was written.
    ///
    /// # Errors
    /// Those of the calls; `Failed` if a size is another one.
    fn stat(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, name, _) in &shard.files {
            let facts = times.of_one("asking for a file's size", || fs::metadata(name))?;
            expect_size(shard, facts.len())?;
        }
        Ok(())
    }

    /// Renames all files.
    ///
    /// # Errors
    /// Those of the calls.
    fn rename(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, name, new_name) in &shard.files {
            times.of_one("renaming a file", || fs::rename(name, new_name))?;
        }
        Ok(())
    }

    /// Deletes all files by their new names.
    ///
    /// # Errors
    /// Those of the calls.
    fn delete(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        for (_, _, name) in &shard.files {
            times.of_one("deleting a file", || fs::remove_file(name))?;
        }
        Ok(())
    }
}

/// The ordinary way.
pub struct Plain;

impl FileOps for Plain {}

/// Carries out a phase.
///
/// # Errors
/// Those of the phase.
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

/// A new file with these contents, still open.
#[inline]
pub fn create(name: &Path, contents: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(name)?;
    file.write_all(contents)?;
    Ok(file)
}

/// A file's contents, of which there should be `size` bytes and are at most one more told; how many there are.
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

/// Whether a file's size is what was written.
///
/// # Errors
/// `Failed` if it is not.
pub fn expect_size(shard: &FileShard, size: u64) -> Result<(), CaseError> {
    if size == shard.size() as u64 {
        return Ok(());
    }
    Err(CaseError::Failed(format!("a file of {} bytes was said to have {size}", shard.size())))
}

/// How long each operation of a phase took.
#[derive(Debug, Clone)]
pub struct Times {
    clock: Clock,
    /// What a reading of the clock costs, to be taken off.
    clock_ns: f64,
    /// Of each operation, or of each of a batch.
    pub ns: Vec<f64>,
    /// All of them together.
    pub sum_ns: f64,
    /// Operations.
    pub count: usize,
    /// CPU time spent between them, on what is not theirs.
    pub aside_ns: f64,
}

impl Times {
    /// For so many operations.
    pub fn new(clock: Clock, clock_ns: f64, operations: usize) -> Self {
        let ns = Vec::with_capacity(operations);
        Self { clock, clock_ns, ns, sum_ns: 0.0, count: 0, aside_ns: 0.0 }
    }

    /// Times one operation.
    ///
    /// # Errors
    /// Those of the operation, with what it was to do.
    #[inline(always)]
    pub fn of_one<T>(
        &mut self,
        what: &str,
        operation: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, CaseError> {
        self.of(1, what, operation)
    }

    /// Times a batch of them, of which each is done when all are.
    ///
    /// # Errors
    /// Those of the operation, with what it was to do.
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

    /// All operations together.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns as u64)
    }
}
