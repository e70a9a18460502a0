//! The lock of a node: one measuring run at a time, whoever's it is, and who has it. The lock of a job: one coordinator at a time.
//!
//! A node's lock says nothing but which process has it, and whose that is. What else is known, such as the job, and by what
//! identity the process can be ended, is a record in a directory of the user alone; nothing that another user can write is read.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use platform::file::private;
use platform::pid;
use platform::process::hosted;
use platform::process::machine_lock::{LockOwner, LockState, MachineLock};
use serde::{Deserialize, Serialize};

/// Name of the lock, which all users of a machine have in common.
const NAME: &str = "oscost-node";
/// Maximum length of a record.
const LENGTH_AT_MOST: u64 = 4_096;

/// Time between two attempts to take the lock of a job.
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
        let file = private::options().create(true).truncate(false).write(true).open(path)?;
        let began = Instant::now();
        loop {
            let is_last = began.elapsed() >= patience;
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { file })),
                Err(TryLockError::WouldBlock) if is_last => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN_AFTER),
                Err(TryLockError::Error(error)) => {
                    let remedy = "XDG_DATA_HOME can name a directory of a file system with locks";
                    let why = format!("flock: {error}; {remedy}");
                    return Err(io::Error::new(error.kind(), why));
                }
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
        let identity = hosted::identity(pid);
        let [job, node, by] = [job, node, by].map(str::to_owned);
        Self { pid, identity, job, node, by, since: now() }
    }

    /// Whether the process is of this node of this job.
    pub fn is_of(&self, job: &str, node: &str) -> bool {
        (self.job.as_str(), self.node.as_str()) == (job, node)
    }

    /// Kills the process, if it still exists.
    pub fn kill(&self) {
        if self.identity.is_some() {
            hosted::kill_if(self.pid, || self.is_alive());
        }
    }

    /// Whether the process still exists.
    pub fn is_alive(&self) -> bool {
        match &self.identity {
            Some(_) => pid::is_alive(self.pid) && hosted::identity(self.pid) == self.identity,
            // The system reports no identity.
            None => pid::is_alive_and_ours(self.pid),
        }
    }
}

/// The current time, as RFC 3339 in UTC with seconds.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).unwrap_or_default());
    time.unwrap_or_default().to_string()
}

/// The record of a process that has the lock of its node, or waits for it. Dropping it removes it.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
}

impl Record {
    /// Writes the record of `holder`, and removes those of processes that were killed.
    ///
    /// # Errors
    /// If the directory cannot be written, or is another user's.
    pub fn write(directory: &Path, holder: &Holder) -> io::Result<Self> {
        private::create_directories(directory)?;
        for (path, of) in records(directory) {
            let boot = |of: &Holder| of.identity.as_ref()?.split(' ').next().map(str::to_owned);
            // Machines may share the directory.
            if boot(&of) == boot(holder) && !of.is_alive() {
                let _ = fs::remove_file(path);
            }
        }
        let identity = holder.identity.as_deref().unwrap_or_default().replace(' ', "-");
        let path = directory.join(format!("{}-{identity}", holder.pid));
        let text = serde_json::to_string(holder).map_err(io::Error::other)?;
        private::create(&path)?.write_all(text.as_bytes())?;
        Ok(Self { path })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // What is left is that of a process that has ended, which the next one removes.
        let _ = fs::remove_file(&self.path);
    }
}

/// The records of a directory.
fn records(directory: &Path) -> Vec<(PathBuf, Holder)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let holder = serde_json::from_slice(&private::read(&path, LENGTH_AT_MOST).ok()?).ok()?;
        Some((path, holder))
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

/// This user's processes that have the lock of this machine or wait for it.
pub fn own_holders(directory: &Path) -> Vec<Holder> {
    let all = records(directory).into_iter().map(|(_, holder)| holder);
    all.filter(Holder::is_alive).collect()
}

/// Who has the lock of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// A process of this user, by its own record.
    Known(Holder),
    /// A process without a record that is read.
    Process(LockOwner),
    /// A process that does not say who it is.
    Unknown,
}

impl Owner {
    /// Who has the lock of this machine; `None` if nobody has.
    ///
    /// # Errors
    /// If the system denies the question.
    pub fn find(directory: &Path) -> io::Result<Option<Self>> {
        let owner = match MachineLock::state(NAME)? {
            LockState::Free => return Ok(None),
            LockState::HeldUnknown => return Ok(Some(Self::Unknown)),
            LockState::Held(owner) => owner,
        };
        let own = match owner.is_this_user() {
            true => own_holders(directory).into_iter().find(|holder| holder.pid == owner.pid),
            false => None,
        };
        Ok(Some(own.map_or(Self::Process(owner), Self::Known)))
    }

    /// The owner in words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Known(Holder { pid, job, by, since, .. }) => {
                format!("job {job} of {by}, process {pid}, since {since}")
            }
            Self::Process(owner @ LockOwner { pid, uid }) => {
                let whose = if owner.is_this_user() { "of this user" } else { "of another user" };
                let process = match pid {
                    0 => "a process in another container".to_owned(),
                    pid => format!("process {pid}"),
                };
                format!("{process} {whose}, user id {uid}")
            }
            Self::Unknown => {
                format!(
                    "a process that does not say who it is (ss -xap src @{NAME} says it to root)"
                )
            }
        }
    }

    /// Whether a process that has ended had taken the lock, of which another one of this user still has a copy.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Process(owner) => {
                owner.is_this_user() && owner.pid != 0 && !pid::is_alive(owner.pid)
            }
            Self::Known(_) | Self::Unknown => false,
        }
    }
}

/// The lock of this machine, held until it is dropped and until all processes have ended that were given it.
#[derive(Debug)]
pub struct NodeLock(MachineLock);

impl NodeLock {
    /// Tries to take the lock; `None` if another process has it.
    ///
    /// # Errors
    /// If the system has no such locks, or denies them.
    pub fn take() -> io::Result<Option<Self>> {
        MachineLock::take(NAME).map(|lock| lock.map(Self))
    }

    /// The lock as the standard input of a child, which then holds it, too.
    ///
    /// # Errors
    /// If dup(2) fails.
    pub fn for_child(&self) -> io::Result<std::process::Stdio> {
        self.0.for_child()
    }

    /// Lets others ask who has the lock; to be called about once a second.
    pub fn answer(&self) {
        self.0.dismiss_questions();
    }
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

    fn holder(job: &str) -> Holder {
        Holder::this_process(job, "n1", "ann@front")
    }

    /// What is read is what this process wrote, of processes that exist.
    #[test]
    #[cfg(target_os = "linux")]
    fn records_are_of_living_processes_of_this_user() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("holders");
        assert_eq!(own_holders(&directory), []);
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let identity = hosted::identity(child.id());
        let killed = Holder { pid: child.id(), identity, ..holder("killed") };
        std::mem::forget(Record::write(&directory, &killed).unwrap());
        let first = Record::write(&directory, &holder("first")).unwrap();
        let jobs = || {
            let mut jobs: Vec<String> =
                own_holders(&directory).into_iter().map(|holder| holder.job).collect();
            jobs.sort();
            jobs
        };
        assert_eq!(jobs(), ["first", "killed"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(jobs(), ["first"]);
        // A process that got the pid of the killed one has another identity.
        let other = Holder { identity: killed.identity.clone(), ..holder("other") };
        assert!(!other.is_alive());
        drop(first);
        let _second = Record::write(&directory, &holder("second")).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "that of the killed one is gone");
        // A record that another user could have written is not read.
        use std::os::unix::fs::PermissionsExt;
        let path = records(&directory)[0].0.clone();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(jobs().is_empty());
    }

    #[test]
    fn an_owner_is_named_by_what_the_kernel_says_or_by_the_own_record() {
        let known = Owner::Known(holder("one"));
        assert!(known.in_words().starts_with("job one of ann@front, process "));
        let other = Owner::Process(LockOwner { pid: 7, uid: 4_000_000 });
        assert_eq!(other.in_words(), "process 7 of another user, user id 4000000");
        assert!(!other.has_ended() && !Owner::Unknown.has_ended());
    }
}
