//! Records in a state directory what a started system creates on this machine, before it is created.
//!
//! The directory is below the one for temporary files, and its name has the pid of this process. A lock on a file in it
//! shows that this process is alive. At the end of the system everything recorded is removed, then the directory; after a
//! kill of this process, [`sweep`] removes both.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use platform::cleanup::random_name;
use platform::process::{control_group, hosted};
use serde::{Deserialize, Serialize};

const PREFIX: &str = "oscost-system-";
/// Name of the file that the directory's creator locks.
const LOCK: &str = "lock";
/// Name of the file that records what else was created, one JSON object a line.
const RECORD: &str = "created";
/// Environment variable of a system's processes with the path of their state directory.
pub const VARIABLE: &str = "OSCOST_SYSTEM";

/// Time limit for removing one thing.
const REMOVAL: Duration = Duration::from_secs(10);

/// Something that a launcher created outside of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Created {
    /// The process group of a process that this one started.
    Group {
        /// The leader's pid.
        leader: u32,
        /// The leader's identity; see [`hosted::identity`].
        identity: String,
    },
    /// A control group that has only processes of the system.
    ControlGroup(PathBuf),
    /// A file.
    File(PathBuf),
    /// A directory with its files.
    Directory(PathBuf),
    /// A directory that is left if others have put something into it.
    EmptyDirectory(PathBuf),
    /// Something that a command removes.
    RemovedBy(Vec<String>),
}

/// The state directory of a system that this process starts. Dropping it removes everything that the system left.
#[derive(Debug)]
pub struct StateDirectory {
    path: PathBuf,
    /// The lock file and the record; only [`Drop`] takes them.
    files: Option<(File, File)>,
    created: Vec<Created>,
}

impl StateDirectory {
    /// Creates a state directory.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        // A sweep of another process removes a directory that has no lock yet.
        (0..100).find_map(|_| Self::attempt(parent).transpose()).unwrap_or_else(|| {
            Err(io::Error::other("the directory was removed as often as it was created"))
        })
    }

    /// Creates a state directory; `None` if a sweep removed it before it had a lock.
    fn attempt(parent: &Path) -> io::Result<Option<Self>> {
        let name = random_name(&format!("{PREFIX}{}-", std::process::id()));
        let path = parent.join(name);
        hosted::private_directory(&path)?;
        let begun = File::create_new(path.join(LOCK)).and_then(|lock| {
            lock.lock()?;
            Ok((lock, File::options().create_new(true).append(true).open(path.join(RECORD))?))
        });
        match begun {
            Ok(files) => Ok(Some(Self { path, files: Some(files), created: Vec::new() })),
            Err(_) if !path.exists() => Ok(None),
            Err(e) => {
                let _ = fs::remove_dir_all(&path);
                Err(e)
            }
        }
    }

    /// The path of the directory, for files of the system, which are removed with it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory's name, which is random: for objects outside of it.
    pub(crate) fn unique_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Records something before it is created.
    ///
    /// # Errors
    /// If the record cannot be written; the caller must then create nothing.
    pub fn record(&mut self, created: Created) -> io::Result<()> {
        let line = serde_json::to_string(&created).map_err(io::Error::other)?;
        if let Some((_, record)) = &mut self.files {
            writeln!(record, "{line}")?;
        }
        self.created.push(created);
        Ok(())
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        remove(&self.path, &self.created, self.files.take());
    }
}

/// Removes everything that systems of ended processes left.
pub fn sweep() {
    sweep_in(&std::env::temp_dir());
}

fn sweep_in(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_state = |name: &str| {
        let numbers = name.strip_prefix(PREFIX).and_then(|numbers| numbers.split_once('-'));
        numbers.is_some_and(|(pid, random)| {
            pid.parse::<u32>().is_ok() && u64::from_str_radix(random, 16).is_ok()
        })
    };
    let paths = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_state));
    for path in paths.map(|entry| entry.path()).filter(|path| hosted::is_own_directory(path)) {
        let Some(lock) = unused(&path) else { continue };
        let record = fs::read_to_string(path.join(RECORD)).unwrap_or_default();
        remove(&path, &parse(&record), Some(lock));
    }
}

/// The lock of a state directory whose process has ended; `None` if the process is alive, or if there is no directory any
/// more.
fn unused(path: &Path) -> Option<File> {
    let lock = match File::options().write(true).open(path.join(LOCK)) {
        Ok(lock) => lock,
        // The process was killed before it made the lock or after it removed it, so the directory is empty; a living
        // process that is just creating the lock makes another directory.
        Err(_) => {
            let _ = fs::remove_dir(path);
            return None;
        }
    };
    match lock.try_lock() {
        Ok(()) => Some(lock),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

/// Parses the complete lines of a record: the last one may be cut off.
fn parse(record: &str) -> Vec<Created> {
    record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Removes a state directory and what its record lists. `held` are the open files in the directory.
fn remove<Files>(path: &Path, created: &[Created], held: Option<Files>) {
    for one in created.iter().rev() {
        undo(one);
    }
    if created.iter().any(|one| matches!(one, Created::RemovedBy(_))) {
        await_end_of_named(path);
    }
    end_processes_of(path);
    for one in created {
        if let Created::ControlGroup(path) = one {
            control_group::remove(path);
        }
    }
    // Windows does not remove open files. Elsewhere a process that has just created the directory gets the lock when the
    // directory is gone, and creates another one.
    let held = (!platform::IS_WINDOWS).then_some(held);
    // What cannot be unmounted or removed now is left for the next sweep, with the directory.
    if hosted::unmount_below(path).is_ok() {
        empty(path);
        let _ = fs::remove_dir_all(path);
    }
    drop(held);
}

/// Removes everything in a state directory but its lock, without which a sweep expects it to be empty.
fn empty(path: &Path) {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name() != LOCK) {
        let path = entry.path();
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

fn undo(created: &Created) {
    match created {
        Created::Group { leader, identity } => {
            // The system reuses the pid of a leader only when its group is empty.
            if hosted::identity(*leader).is_none_or(|now| now == *identity) {
                end_all(|| hosted::in_group(*leader));
            }
        }
        // Control groups are removed after the processes in them.
        Created::ControlGroup(_) => {}
        Created::File(path) => {
            let _ = fs::remove_file(path);
        }
        Created::Directory(path) => {
            let _ = fs::remove_dir_all(path);
        }
        Created::EmptyDirectory(path) => {
            let _ = fs::remove_dir(path);
        }
        Created::RemovedBy(words) => run(words),
    }
}

/// Kills the processes that mention a state directory, such as those of a sandbox that left its process group.
fn end_processes_of(path: &Path) {
    if let Some(text) = path.to_str() {
        end_all(|| hosted::mentioning(text));
    }
}

/// Waits for the end of the processes that have the name of a state directory as an argument, and kills the remaining ones:
/// a container's monitor (conmon) cleans up for some 50 ms after `podman rm` has returned.
fn await_end_of_named(path: &Path) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let named = || hosted::mentioning(name);
    let began = Instant::now();
    while !named().is_empty() && began.elapsed() < REMOVAL {
        std::thread::sleep(Duration::from_millis(2));
    }
    end_all(named);
}

/// Kills processes until there are none.
fn end_all(find: impl Fn() -> Vec<u32>) {
    let began = Instant::now();
    loop {
        let found = find();
        if found.is_empty() || began.elapsed() > REMOVAL {
            return;
        }
        for pid in found {
            hosted::kill_if(pid, || find().contains(&pid));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a command to its end, without its output; kills it after [`REMOVAL`].
fn run(words: &[String]) {
    let Some(mut command) = platform::process::command::of_words(words) else { return };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = code_within(&mut command, REMOVAL);
}

/// Runs a command; returns its exit code, or `None` if a signal ended it, also the kill after `limit`.
///
/// # Errors
/// If the command cannot be started.
pub(crate) fn code_within(command: &mut Command, limit: Duration) -> io::Result<Option<i32>> {
    let mut child = command.spawn()?;
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_directory_is_removed_with_what_was_recorded() {
        let parent = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let mut state = StateDirectory::new_in(parent.path()).unwrap();
        let path = state.path().to_owned();
        fs::create_dir_all(path.join("a/b")).unwrap();
        state.record(Created::File(outside.path().to_owned())).unwrap();
        sweep_in(parent.path());
        assert!(path.exists() && outside.path().exists(), "this process is alive");
        drop(state);
        assert!(!path.exists() && !outside.path().exists());
    }

    #[test]
    fn what_dead_processes_left_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        // The highest pid of Linux is 2^22, so no process has this one.
        let dead = parent.path().join(format!("{PREFIX}4194305-0"));
        let outside = tempfile::NamedTempFile::new().unwrap();
        hosted::private_directory(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let line = serde_json::to_string(&Created::File(outside.path().to_owned())).unwrap();
        fs::write(dead.join(RECORD), format!("not JSON\n{line}\n{{\"file\":\"/cut")).unwrap();
        sweep_in(parent.path());
        assert!(!dead.exists() && !outside.path().exists());
    }

    #[test]
    fn a_directory_without_a_lock_is_swept_at_once() {
        let parent = tempfile::tempdir().unwrap();
        let new = parent.path().join(format!("{PREFIX}4194305-1"));
        hosted::private_directory(&new).unwrap();
        sweep_in(parent.path());
        assert!(!new.exists());
    }

    /// The lock is removed after everything else: a kill in between leaves what a sweep recognizes.
    #[test]
    fn emptying_keeps_the_lock() {
        let parent = tempfile::tempdir().unwrap();
        let state = StateDirectory::new_in(parent.path()).unwrap();
        fs::create_dir_all(state.path().join("a/b")).unwrap();
        empty(state.path());
        let left: Vec<_> =
            fs::read_dir(state.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [LOCK]);
    }

    /// A sweep removes directories that have no lock yet.
    #[test]
    #[cfg(unix)]
    fn a_directory_is_created_beside_sweeps() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let creating = scope.spawn(|| {
                for _ in 0..300 {
                    let state = StateDirectory::new_in(parent.path()).unwrap();
                    assert!(state.path().join(RECORD).exists());
                }
            });
            while !creating.is_finished() {
                sweep_in(parent.path());
            }
        });
    }

    #[test]
    fn only_state_directories_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let other = parent.path().join(format!("{PREFIX}x-{}", std::process::id()));
        hosted::private_directory(&other).unwrap();
        fs::write(other.join(LOCK), "").unwrap();
        sweep_in(parent.path());
        assert!(other.exists());
        fs::remove_dir_all(&other).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_that_outlive_their_leader_are_ended() {
        let parent = tempfile::tempdir().unwrap();
        let cpus = platform::cpu::allowed();
        let mut state = StateDirectory::new_in(parent.path()).unwrap();
        let mut command = Command::new("sh");
        // One process stays in the group, the other leaves it.
        command.args(["-c", "sleep 98 & setsid sleep 99 & read line"]).stdin(Stdio::piped());
        command.env(VARIABLE, state.path());
        let mut child = hosted::spawn(command, &cpus, None).unwrap();
        let leader = child.id();
        let identity = hosted::identity(leader).unwrap();
        state.record(Created::Group { leader, identity }).unwrap();
        let text = state.path().to_str().unwrap().to_owned();
        while hosted::mentioning(&text).len() < 3 {
            std::thread::yield_now();
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(hosted::mentioning(&text).len(), 2);
        drop(state);
        assert!(hosted::mentioning(&text).is_empty() && hosted::in_group(leader).is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_control_group_is_removed_with_its_processes() {
        let parent = tempfile::tempdir().unwrap();
        use platform::process::control_group::ControlGroup;
        let mut state = StateDirectory::new_in(parent.path()).unwrap();
        let group = ControlGroup::path_of(&state.unique_name()).and_then(|path| {
            state.record(Created::ControlGroup(path.clone()))?;
            ControlGroup::create(path)
        });
        let reason = group.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if testing::skip_unless(group.is_ok(), &format!("root: {reason}")) {
            return;
        }
        // The record alone has the group's path, as after a kill of this process.
        let group = std::mem::ManuallyDrop::new(group.unwrap());
        let mut command = Command::new("sleep");
        command.arg("97");
        let mut child = hosted::spawn(command, &platform::cpu::allowed(), Some(&group)).unwrap();
        assert!(group.has(child.id()));
        let record = fs::read_to_string(state.path().join(RECORD)).unwrap();
        let [Created::ControlGroup(path)] = &parse(&record)[..] else { panic!("{record}") };
        assert!(path.is_dir());
        let waiting = std::thread::spawn(move || child.wait().unwrap());
        drop(state);
        assert!(!path.exists() && !waiting.join().unwrap().success());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pid_that_another_process_has_is_left_alone() {
        let mut child = hosted::spawn(
            {
                let mut command = Command::new("sleep");
                command.arg("60");
                command
            },
            &platform::cpu::allowed(),
            None,
        )
        .unwrap();
        undo(&Created::Group { leader: child.id(), identity: "another boot 7".to_owned() });
        assert!(child.try_wait().unwrap().is_none());
        let identity = hosted::identity(child.id()).unwrap();
        undo(&Created::Group { leader: child.id(), identity });
        child.wait().unwrap();
    }
}
