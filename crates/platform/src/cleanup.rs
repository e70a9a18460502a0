//! Removes what outlives a killed process: temporary files, named semaphores and message queues, System V objects.
//!
//! Their names contain the pid of the worker that created them. The worker removes them when it gets SIGTERM, the
//! coordinator when the worker was killed, or the next coordinator when both were killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::pid::{is_alive, is_alive_and_ours};

mod directory;

pub use directory::{Directory, LONGEST_NAME};

/// Prefix of the names of temporary files and directories. No other program uses it; `oscost-2` may be a user's own file.
const PREFIX: &str = "oscost-worker-";

/// The path of the one temporary file a worker may have.
pub fn temp_path() -> PathBuf {
    temp_path_of(std::process::id())
}

fn temp_path_of(pid: u32) -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{pid}"))
}

/// The name of the one POSIX semaphore a worker may have.
pub fn semaphore_name() -> String {
    format!("/{PREFIX}{}", std::process::id())
}

/// The name of the one POSIX message queue a worker may have.
pub fn queue_name() -> String {
    semaphore_name()
}

/// The key of the one System V semaphore set and the one System V message queue a worker may have: `5c` and the pid.
pub fn ipc_key() -> i32 {
    ipc_key_of(std::process::id())
}

fn ipc_key_of(pid: u32) -> i32 {
    0x5c00_0000 | (pid & 0x00ff_ffff) as i32
}

/// Directories, besides the one for temporary files, in which workers create a [`Directory`].
static OTHERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Adds `parent` to the directories that are swept for a worker's [`Directory`].
pub fn look_also_in(parent: &Path) {
    OTHERS.lock().unwrap_or_else(PoisonError::into_inner).insert(parent.to_owned());
}

/// Times at which children of this process ended, by pid.
static ENDED: Mutex<BTreeMap<u32, SystemTime>> = Mutex::new(BTreeMap::new());

/// Records that the child `pid` of this process has ended: another process may have its pid when the child's files are
/// swept.
pub fn note_end(pid: u32) {
    ENDED.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, SystemTime::now());
}

/// Whether the directory `path` was created before this process's child `pid` ended.
fn is_of_the_ended(pid: u32, path: &Path) -> bool {
    let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner).get(&pid).copied();
    let made = fs::symlink_metadata(path).and_then(|facts| facts.created().or(facts.modified()));
    ended.zip(made.ok()).is_some_and(|(ended, made)| made <= ended)
}

fn parents() -> Vec<PathBuf> {
    let mut parents = OTHERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    parents.insert(std::env::temp_dir());
    parents.into_iter().collect()
}

/// Removes what the ended process `pid` left behind.
pub fn sweep(pid: u32) {
    // Most processes have left nothing, which is an error here.
    let _ = fs::remove_file(temp_path_of(pid));
    for parent in parents() {
        let _ = directory::remove(&directory::path_of(&parent, pid), directory::Held::No);
    }
    os::sweep(pid);
}

/// Removes what dead workers of earlier runs left behind.
pub fn sweep_dead() {
    let mut pids = os::pids_with_objects();
    if let Ok(entries) = fs::read_dir(std::env::temp_dir()) {
        pids.extend(entries.flatten().filter_map(|entry| pid_in(entry.file_name().to_str()?)));
    }
    for pid in pids.into_iter().filter(|&pid| !is_alive(pid)) {
        sweep(pid);
    }
    parents().iter().for_each(|parent| sweep_directories(parent));
}

/// Pids are reused: where directories can be locked, the lock shows whether the creator is alive.
fn sweep_directories(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| directory::pid_in(entry.file_name().to_str()?));
    for pid in pids.collect::<Vec<_>>() {
        let path = directory::path_of(parent, pid);
        if !is_alive_and_ours(pid) || is_of_the_ended(pid, &path) {
            let _ = directory::remove(&path, directory::Held::Perhaps);
        }
    }
}

fn pid_in(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

#[cfg(target_os = "linux")]
pub(crate) use os::{end_group_on_termination, sweep_on_termination};

#[cfg(target_os = "linux")]
mod os {
    use std::ffi::{CStr, CString};
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{PREFIX, ipc_key, ipc_key_of, pid_in, temp_path};

    const SEMAPHORES: &str = "/dev/shm";
    /// The mount point of the file system that lists POSIX message queues.
    const QUEUES: &str = "/dev/mqueue";

    pub fn sweep(pid: u32) {
        let _ = fs::remove_file(format!("{SEMAPHORES}/sem.{PREFIX}{pid}"));
        remove_queue(&CString::new(format!("{PREFIX}{pid}")).unwrap_or_default());
        remove_semaphore_set(ipc_key_of(pid));
        remove_message_queue(ipc_key_of(pid));
    }

    /// Removes the POSIX message queue `name`, given without its slash, by the plain system call, which is permitted in a
    /// signal handler.
    fn remove_queue(name: &CStr) {
        // SAFETY: the name is a string that outlives the call.
        unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
    }

    fn remove_message_queue(key: i32) {
        // SAFETY: the calls look up a queue by its key and remove it, without pointers.
        unsafe {
            let queue = libc::msgget(key, 0);
            if queue >= 0 {
                libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
            }
        }
    }

    fn remove_semaphore_set(key: i32) {
        // SAFETY: the calls look up a set by its key and remove it, without pointers.
        unsafe {
            let set = libc::semget(key, 0, 0);
            if set >= 0 {
                libc::semctl(set, 0, libc::IPC_RMID);
            }
        }
    }

    pub fn pids_with_objects() -> Vec<u32> {
        let named = fs::read_dir(SEMAPHORES).into_iter().flatten().flatten();
        let mut pids: Vec<u32> = named
            .filter_map(|entry| pid_in(entry.file_name().to_str()?.strip_prefix("sem.")?))
            .collect();
        let queues = fs::read_dir(QUEUES).into_iter().flatten().flatten();
        pids.extend(queues.filter_map(|entry| pid_in(entry.file_name().to_str()?)));
        for kind in ["sem", "msg"] {
            let list = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
            pids.extend(list.lines().filter_map(|line| {
                let key: i64 = line.split_whitespace().next()?.parse().ok()?;
                (key >> 24 == 0x5c).then_some((key & 0x00ff_ffff) as u32)
            }));
        }
        pids
    }

    struct Mine {
        temp_file: CString,
        semaphore: CString,
        queue: CString,
        key: i32,
    }

    static MINE: OnceLock<Mine> = OnceLock::new();
    static ENDS_GROUP: AtomicBool = AtomicBool::new(false);

    /// Makes SIGTERM also kill the process group that this process leads, if any.
    pub fn end_group_on_termination() {
        ENDS_GROUP.store(true, Ordering::Relaxed);
    }

    /// Makes SIGTERM remove what this process would leave behind, then end it.
    pub fn sweep_on_termination() {
        let path = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
        let pid = std::process::id();
        MINE.get_or_init(|| Mine {
            temp_file: path(temp_path().as_os_str().as_bytes()),
            semaphore: path(format!("{SEMAPHORES}/sem.{PREFIX}{pid}").as_bytes()),
            queue: path(format!("{PREFIX}{pid}").as_bytes()),
            key: ipc_key(),
        });
        // SAFETY: the handler makes only async-signal-safe calls.
        unsafe { libc::signal(libc::SIGTERM, on_termination as *const () as libc::sighandler_t) };
    }

    extern "C" fn on_termination(_signal: libc::c_int) {
        // SAFETY: all of these are plain system calls; MINE was set before the handler was installed, and reading it
        // takes no lock.
        unsafe {
            if let Some(mine) = MINE.get() {
                libc::unlink(mine.temp_file.as_ptr());
                libc::unlink(mine.semaphore.as_ptr());
                remove_queue(&mine.queue);
                remove_semaphore_set(mine.key);
                remove_message_queue(mine.key);
            }
            if ENDS_GROUP.load(Ordering::Relaxed) && libc::getpgrp() == libc::getpid() {
                libc::kill(0, libc::SIGKILL);
            }
            libc::_exit(143);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    pub fn sweep(_pid: u32) {}

    pub fn pids_with_objects() -> Vec<u32> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::MutexGuard;

    use super::*;

    /// Runs one test at a time: a sweep removes what every dead process left, other tests' included.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn only_what_dead_processes_left_is_swept() {
        let _alone = alone();
        let mine = temp_path();
        // The highest pid of Linux is 2^22, so no process has this one.
        let theirs = temp_path_of(4_194_305);
        fs::write(&mine, "x").unwrap();
        fs::write(&theirs, "x").unwrap();
        sweep_dead();
        assert!(mine.exists());
        assert!(!theirs.exists());
        sweep(std::process::id());
        assert!(!mine.exists());
    }

    #[test]
    fn directories_of_the_dead_are_swept_wherever_workers_made_them() {
        let _alone = alone();
        let parent = std::env::temp_dir().join(format!("oscost-test-swept-{}", std::process::id()));
        fs::create_dir(&parent).unwrap();
        look_also_in(&parent);
        let mine = Directory::new_in(&parent).unwrap();
        let [theirs, swept] = [4_194_305, 4_194_306].map(|pid| directory::path_of(&parent, pid));
        for path in [&theirs, &swept] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("f0000001"), "x").unwrap();
        }
        sweep(4_194_306);
        assert!(theirs.exists() && !swept.exists());
        sweep_dead();
        assert!(mine.path().exists() && !theirs.exists());
        drop(mine);
        fs::remove_dir(&parent).unwrap();
    }

    /// Under Wine a worker got the pid of an ended one, whose directory then stayed.
    #[test]
    fn what_an_ended_worker_left_is_swept_also_if_its_pid_is_in_use_again() {
        let _alone = alone();
        let pid = std::process::id();
        let parent = std::env::temp_dir().join(format!("oscost-test-reused-{pid}"));
        fs::create_dir(&parent).unwrap();
        let left = directory::path_of(&parent, pid);
        fs::create_dir(&left).unwrap();
        sweep_directories(&parent);
        assert!(left.exists(), "of a process that is alive");
        std::thread::sleep(std::time::Duration::from_millis(20));
        note_end(pid);
        sweep_directories(&parent);
        assert!(!left.exists());
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::create_dir(&left).unwrap();
        sweep_directories(&parent);
        assert!(left.exists(), "of the process that has the pid now");
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
        fs::remove_dir(&left).unwrap();
        fs::remove_dir(&parent).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn message_queues_of_the_dead_are_swept() {
        const DEAD: u32 = 4_194_307;
        let _alone = alone();
        let name = std::ffi::CString::new(format!("/{PREFIX}{DEAD}")).unwrap();
        let key = ipc_key_of(DEAD);
        let has_posix = |flags: libc::c_int| {
            let mode: libc::mode_t = 0o600;
            // SAFETY: the name is a string that outlives the call; no attributes are given.
            let queue = unsafe {
                libc::mq_open(name.as_ptr(), flags, mode, std::ptr::null_mut::<libc::mq_attr>())
            };
            // SAFETY: a descriptor of our own, or -1.
            unsafe { libc::close(queue) };
            queue >= 0
        };
        // SAFETY: looks for a queue, or makes one; no memory is passed.
        let has_system_v = |flags: libc::c_int| unsafe { libc::msgget(key, flags) } >= 0;
        let made = has_posix(libc::O_CREAT) && has_system_v(libc::IPC_CREAT | 0o600);
        if testing::skip_unless(made, "needs message queues of both kinds") {
            sweep(DEAD);
            return;
        }
        if Path::new("/proc/sysvipc/msg").exists() {
            assert!(os::pids_with_objects().contains(&DEAD));
        }
        sweep(DEAD);
        assert!(!has_posix(0) && !has_system_v(0));
    }

    #[test]
    fn strangers_names_are_left_alone() {
        assert_eq!(pid_in("oscost-worker-17"), Some(17));
        for name in ["oscost-17", "oscost-worker-17.txt", "other-17"] {
            assert_eq!(pid_in(name), None, "{name}");
        }
        // Names of a user's own files, whose number is no pid.
        let _alone = alone();
        let path = std::env::temp_dir().join("oscost-4194308");
        fs::write(&path, "a user's").unwrap();
        sweep_dead();
        let is_there = path.exists();
        let _ = fs::remove_file(&path);
        assert!(is_there);
    }
}
