//! The lock of a node: one measuring run at a time, and who has it. The lock of a job: one coordinator at a time.
//!
//! Both are flock(2) of a file; the kernel releases it when the process that has it ends, however it ends. The node's file can
//! be opened by all users of the machine, and its content names the holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// Name of the lock's file.
const FILE: &str = "oscost-node.lock";
/// Maximum length of the file that is read.
const LENGTH_AT_MOST: u64 = 4_096;

/// Time between two attempts to take a lock.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The lock of a job, held by its coordinator until it is dropped.
#[derive(Debug)]
pub struct JobLock {
    file: File,
}

impl JobLock {
    /// Takes the lock; `None` if another process has it for as long as `patience`.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn take(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        let began = Instant::now();
        loop {
            let is_last = began.elapsed() >= patience;
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { file })),
                Err(TryLockError::WouldBlock) if is_last => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN_AFTER),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for JobLock {
    /// Closing the file would not release the lock while a process that another thread is starting has a copy of it, between
    /// fork(2) and execve(2).
    fn drop(&mut self) {
        // The file is closed in any case.
        let _ = self.file.unlock();
    }
}

/// Who holds a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The process's identity (`platform::process::hosted::identity`).
    pub identity: Option<String>,
    /// The job.
    pub job: String,
    /// The node's name in the job.
    pub node: String,
    /// User and host of the job's coordinator.
    pub by: String,
    /// Since when, as RFC 3339 in UTC.
    pub since: String,
}

impl Holder {
    /// This process as the holder.
    pub fn this_process(job: &str, node: &str, by: &str) -> Self {
        let pid = std::process::id();
        let identity = platform::process::hosted::identity(pid);
        let [job, node, by] = [job, node, by].map(str::to_owned);
        Self { pid, identity, job, node, by, since: now() }
    }

    /// The holder in words.
    pub fn in_words(&self) -> String {
        let Self { pid, job, by, since, .. } = self;
        format!("job {job} of {by}, process {pid}, since {since}")
    }
}

/// The current time, as RFC 3339 in UTC with seconds.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).unwrap_or_default());
    time.unwrap_or_default().to_string()
}

/// The lock of this machine, held until it is dropped and until all processes that have a copy of its file have ended.
#[derive(Debug)]
pub struct NodeLock {
    file: File,
}

impl NodeLock {
    /// The file of this machine's lock: in the directory for locks that all users share, else in the one for temporary files.
    pub fn path() -> PathBuf {
        let shared = Path::new("/run/lock");
        let directory = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        directory.join(FILE)
    }

    /// Tries to take the lock; `Err(Some(holder))` within the result if another process has it, `Err(None)` if that has not yet
    /// written who it is.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn take(path: &Path, holder: &Holder) -> io::Result<Result<Self, Option<Holder>>> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(holder_in(&mut file))),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(serde_json::to_string(holder).map_err(io::Error::other)?.as_bytes())?;
        Ok(Ok(Self { file }))
    }

    /// Who has the lock; `None` if nobody has.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn holder(path: &Path) -> io::Result<Option<Holder>> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            // A process that is being started may have a copy of the file.
            Ok(()) => file.unlock().map(|()| None),
            Err(TryLockError::WouldBlock) => Ok(holder_in(&mut file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// A copy of the lock's file for a child, which then holds the lock, too.
    ///
    /// # Errors
    /// If dup(2) fails.
    pub fn copy(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

fn holder_in(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(LENGTH_AT_MOST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Opens the file. Where it exists it is not opened with O_CREAT, which Linux denies for another user's file in a directory such
/// as /tmp (fs.protected_regular).
fn open(path: &Path) -> io::Result<File> {
    let existing = OpenOptions::new().read(true).write(true).open(path);
    match existing {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => {
            permit_all(&file)?;
            Ok(file)
        }
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().read(true).write(true).open(path)
        }
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn permit_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn permit_all(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_free_once_its_lock_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let take = || JobLock::take(&path, Duration::ZERO).unwrap();
        let first = take().expect("free");
        assert!(take().is_none());
        // The copy stands for a child between fork and exec.
        let copy = first.file.try_clone().unwrap();
        drop(first);
        let second = take().expect("free although a child has a copy");
        drop(copy);
        assert!(take().is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| JobLock::take(&path, testing::PATIENCE).unwrap());
            drop(second);
            assert!(waiting.join().unwrap().is_some());
        });
    }

    #[test]
    fn one_has_the_lock_and_the_others_learn_who() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        assert_eq!(NodeLock::holder(&path).unwrap(), None);
        let first = Holder::this_process("one", "n1", "ann@front");
        let second = Holder::this_process("a longer name of a job", "n1", "bob@front");
        // A child that another test starts may have a copy of the lock for a moment.
        let take =
            |holder: &Holder| testing::until_some(|| NodeLock::take(&path, holder).unwrap().ok());
        drop(take(&second));
        let lock = take(&first);
        let found = NodeLock::take(&path, &second).unwrap().unwrap_err();
        assert_eq!(found.as_ref(), Some(&first));
        assert!(found.unwrap().in_words().starts_with("job one of ann@front, process "));
        assert_eq!(NodeLock::holder(&path).unwrap(), Some(first));
        // A child that has a copy holds the lock after this process has dropped it.
        let copy = lock.copy().unwrap();
        drop(lock);
        assert!(NodeLock::take(&path, &second).unwrap().is_err());
        drop(copy);
        take(&second);
    }
}
