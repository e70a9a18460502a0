//! Records of what would outlive a process, and the removal of what records of ended processes name.

use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::emptying;
use crate::CaseError;
use crate::file::private;
use crate::pid::is_alive;

/// Prefix of the names of records. The pid of the process and a random number follow.
const RECORD: &str = "oscost-record-";
/// Prefix of the names of files, semaphores and queues. A random number follows.
const PREFIX: &str = "oscost-worker-";
/// Longest record that is read, in bytes: longer than the longest path of most systems.
const LONGEST_RECORD: u64 = 16 << 10;
/// Time limit for the end of the processes that a killed worker had started: they have its records open, too.
const LAST_PROCESSES: Duration = Duration::from_secs(1);

/// The kind of what a record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// A file, FIFO or socket, by its path. A named semaphore is one on Linux.
    File,
    /// A worker's directory, by its path.
    Directory,
    /// A POSIX message queue, by its name with the slash.
    Queue,
    /// A System V semaphore set, by its key.
    SemaphoreSet,
    /// A System V message queue, by its key.
    MessageQueue,
}

/// The name of something that this process is about to create, which is in a record. Dropping it removes the thing, then the record.
#[derive(Debug)]
pub struct Recorded {
    kind: Kind,
    name: String,
    record: PathBuf,
    /// The record's file, locked while this process is alive; only [`Drop`] takes it.
    lock: Option<File>,
    /// The process that made the record. A forked child leaves its parent's things alone.
    pid: u32,
}

/// Number of things of this process.
static THINGS: AtomicUsize = AtomicUsize::new(0);

impl Recorded {
    /// The path of a new temporary file, FIFO or socket.
    ///
    /// # Errors
    /// If the record cannot be written; for all constructors.
    pub fn file() -> Result<Self, CaseError> {
        named(Self::at(Kind::File, &std::env::temp_dir().join(random_name(PREFIX))))
    }

    /// Creates the file, for reading and writing by this user only.
    ///
    /// # Errors
    /// Errors of open(2).
    pub fn create(&self) -> Result<File, CaseError> {
        let path = self.path();
        private::create_new(path).map_err(|e| CaseError::from_io(&path.display().to_string(), &e))
    }

    pub(super) fn at(kind: Kind, path: &Path) -> io::Result<Self> {
        let name = path.to_str().filter(|path| !path.contains('\0'));
        let not_text = || io::Error::other(format!("the path {} is not in UTF-8", path.display()));
        Self::new(kind, name.ok_or_else(not_text)?.to_owned())
    }

    fn new(kind: Kind, name: String) -> io::Result<Self> {
        let pid = std::process::id();
        let record = std::env::temp_dir().join(random_name(&format!("{RECORD}{pid}-")));
        // Windows locks no file that is opened only to append.
        let mut lock = private::create_new(&record)?;
        // Where there are no such locks, no sweep gets one either.
        let _ = lock.try_lock();
        THINGS.fetch_add(1, Ordering::Relaxed);
        let text = format!("{} {name}\0", <&str>::from(kind));
        os::remember(kind, &name, &record);
        // From here on dropping it undoes this.
        let mut recorded = Self { kind, name, record, lock: None, pid };
        let written = lock.write_all(text.as_bytes());
        recorded.lock = Some(lock);
        written.map(|()| recorded)
    }

    /// The path of a file.
    pub fn path(&self) -> &Path {
        Path::new(&self.name)
    }
}

#[cfg(unix)]
impl Recorded {
    /// The name of a new POSIX semaphore.
    ///
    /// # Errors
    /// See [`Recorded::file`].
    pub fn semaphore() -> Result<Self, CaseError> {
        named(Self::new(Kind::File, format!("{}{}", os::SEMAPHORES, random_name(PREFIX))))
    }

    /// The name of a semaphore or queue, with its slash.
    pub fn name(&self) -> String {
        self.name.replacen(os::SEMAPHORES, "/", 1)
    }
}

#[cfg(target_os = "linux")]
impl Recorded {
    /// The name of a new POSIX message queue.
    ///
    /// # Errors
    /// See [`Recorded::file`].
    pub fn queue() -> Result<Self, CaseError> {
        named(Self::new(Kind::Queue, format!("/{}", random_name(PREFIX))))
    }

    /// The key of a new System V semaphore set. A set without a key could be recorded only after it was made, by a number that
    /// another one gets after a restart.
    ///
    /// # Errors
    /// See [`Recorded::file`].
    pub fn semaphore_set() -> Result<Self, CaseError> {
        named(Self::new(Kind::SemaphoreSet, random_key().to_string()))
    }

    /// The key of a new System V message queue.
    ///
    /// # Errors
    /// See [`Recorded::file`].
    pub fn message_queue() -> Result<Self, CaseError> {
        named(Self::new(Kind::MessageQueue, random_key().to_string()))
    }

    /// The key of a set or message queue.
    pub fn key(&self) -> i32 {
        self.name.parse().unwrap_or_default()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // What cannot be removed now is left to the next sweep.
        if self.pid == std::process::id() && remove(self.kind, &self.name) {
            os::forget(&self.record);
            // Windows does not remove open files.
            drop(self.lock.take());
            let _ = fs::remove_file(&self.record);
            THINGS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Names the directory of temporary files in an error.
fn named<T>(recorded: io::Result<T>) -> Result<T, CaseError> {
    recorded.map_err(|error| {
        let directory = std::env::temp_dir();
        CaseError::from_io(&format!("a temporary file in {}", directory.display()), &error)
    })
}

/// Whether this process has something that would outlive it.
pub fn has_things() -> bool {
    THINGS.load(Ordering::Relaxed) > 0
}

/// `prefix` and a random number: a name that nobody can foresee.
pub fn random_name(prefix: &str) -> String {
    format!("{prefix}{:016x}", random())
}

/// A random number. The standard library's hashes have random keys; forked processes, which have the same keys, differ by their pids.
fn random() -> u64 {
    std::hash::RandomState::new().hash_one(std::process::id())
}

/// A random key, not 0, which stands for none.
#[cfg(target_os = "linux")]
fn random_key() -> i32 {
    (random() as i32 & i32::MAX).max(1)
}

/// Removes a thing if it belongs to this user; returns whether it is gone or another's.
fn remove(kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Directory => {
            let _ = emptying::remove(Path::new(name));
            !Path::new(name).is_dir()
        }
        _ => os::remove(kind, name),
    }
}

/// Removes what the ended process `pid` left behind.
pub fn sweep(pid: u32) {
    sweep_records(|of| of == pid);
}

/// Removes what all ended processes left behind.
pub fn sweep_dead() {
    sweep_records(|_| true);
}

fn sweep_records(is_asked: impl Fn(u32) -> bool) {
    let until = Instant::now() + LAST_PROCESSES;
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(pid_in).filter(|&pid| is_asked(pid));
        if let Some(pid) = pid {
            sweep_record(&entry.path(), pid, until);
        }
    }
}

/// Removes what a record names, then the record, unless the process that wrote it is alive.
fn sweep_record(path: &Path, pid: u32, until: Instant) -> Option<()> {
    let file = private::open(path).ok()?;
    while file.try_lock().is_err() {
        // The processes that an ended one had started may be about to end.
        if is_alive(pid) || Instant::now() >= until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut text = Vec::new();
    (&file).take(LONGEST_RECORD).read_to_end(&mut text).ok()?;
    // What was not written whole was not created.
    let gone = parse(&text).is_none_or(|(kind, name)| remove(kind, name));
    drop(file);
    if gone {
        let _ = fs::remove_file(path);
    }
    Some(())
}

/// What a record names; `None` if it was cut off.
fn parse(record: &[u8]) -> Option<(Kind, &str)> {
    let whole = record.strip_suffix(b"\0").filter(|text| !text.contains(&0))?;
    let (kind, name) = std::str::from_utf8(whole).ok()?.split_once(' ')?;
    Some((kind.parse().ok()?, name))
}

/// The pid in the name of a record.
fn pid_in(name: &str) -> Option<u32> {
    name.strip_prefix(RECORD)?.split_once('-')?.0.parse().ok()
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{end_group_on_termination, sweep_on_termination};

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{CStr, CString};
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

    use super::Kind;
    use crate::user::own_user;

    /// What precedes the name of a POSIX semaphore in the path of its file (sem_overview(7)).
    pub const SEMAPHORES: &str = "/dev/shm/sem.";

    /// A thing in the form that system calls take.
    struct Thing {
        kind: Kind,
        name: CString,
        key: i32,
        record: CString,
        /// The process that has it: forked children inherit the list.
        pid: u32,
    }

    impl Thing {
        fn new(kind: Kind, name: &str, record: &Path) -> Self {
            let key = name.parse().unwrap_or_default();
            let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
            let (name, record) = (text(name.as_bytes()), text(record.as_os_str().as_bytes()));
            Self { kind, name, key, record, pid: std::process::id() }
        }

        /// Removes it if it belongs to this user; returns whether it is gone or another's. Makes only async-signal-safe calls.
        fn remove(&self) -> bool {
            match self.kind {
                Kind::File => remove_file(&self.name),
                Kind::Directory => false,
                Kind::Queue => remove_queue(self),
                Kind::SemaphoreSet => remove_semaphore_set(self.key),
                Kind::MessageQueue => remove_message_queue(self.key),
            }
        }
    }

    pub fn remove(kind: Kind, name: &str) -> bool {
        Thing::new(kind, name, Path::new("")).remove()
    }

    fn remove_file(path: &CStr) -> bool {
        let mut facts = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the name ends with NUL; lstat fills the facts if it succeeds, and they are read only then.
        unsafe {
            libc::lstat(path.as_ptr(), facts.as_mut_ptr()) != 0
                || facts.assume_init_ref().st_uid != own_user()
                || libc::unlink(path.as_ptr()) == 0
        }
    }

    /// The plain system calls are used, which are permitted in a signal handler; they take the name without its slash.
    fn remove_queue(queue: &Thing) -> bool {
        let mut facts = MaybeUninit::<libc::stat>::uninit();
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: the name ends with NUL, so that the place after its first byte is in it or its end; the descriptor is closed;
        // fstat fills the facts if it succeeds, and they are read only then.
        unsafe {
            let name = queue.name.as_ptr().add(usize::from(!queue.name.is_empty()));
            let found =
                libc::syscall(libc::SYS_mq_open, name, flags, 0, null_mut::<libc::mq_attr>());
            if found < 0 {
                return true;
            }
            let ours = libc::fstat(found as libc::c_int, facts.as_mut_ptr()) == 0
                && facts.assume_init_ref().st_uid == own_user();
            libc::close(found as libc::c_int);
            !ours || libc::syscall(libc::SYS_mq_unlink, name) == 0
        }
    }

    fn remove_semaphore_set(key: i32) -> bool {
        let mut facts = MaybeUninit::<libc::semid_ds>::zeroed();
        // SAFETY: semget takes no memory; IPC_STAT fills the facts if it succeeds, and they are read only then.
        unsafe {
            let set = libc::semget(key, 0, 0);
            set < 0
                || libc::semctl(set, 0, libc::IPC_STAT, facts.as_mut_ptr()) != 0
                || facts.assume_init_ref().sem_perm.cuid != own_user()
                || libc::semctl(set, 0, libc::IPC_RMID) == 0
        }
    }

    fn remove_message_queue(key: i32) -> bool {
        let mut facts = MaybeUninit::<libc::msqid_ds>::zeroed();
        // SAFETY: msgget takes no memory; IPC_STAT fills the facts if it succeeds, and they are read only then.
        unsafe {
            let queue = libc::msgget(key, 0);
            queue < 0
                || libc::msgctl(queue, libc::IPC_STAT, facts.as_mut_ptr()) != 0
                || facts.assume_init_ref().msg_perm.cuid != own_user()
                || libc::msgctl(queue, libc::IPC_RMID, null_mut()) == 0
        }
    }

    /// More things than a worker has at a time. What finds no place here is left to a sweep.
    const MOST: usize = 16;
    /// What SIGTERM removes. The things are never freed: the handler may be reading them.
    static THINGS: [AtomicPtr<Thing>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
    static ENDS_GROUP: AtomicBool = AtomicBool::new(false);

    pub fn remember(kind: Kind, name: &str, record: &Path) {
        let thing = Box::into_raw(Box::new(Thing::new(kind, name, record)));
        let put = |slot: &AtomicPtr<Thing>| {
            let (taken, free) = (Ordering::Release, Ordering::Relaxed);
            slot.compare_exchange(null_mut(), thing, taken, free).is_ok()
        };
        let _ = THINGS.iter().any(put);
    }

    pub fn forget(record: &Path) {
        for slot in &THINGS {
            // SAFETY: things are never freed.
            let thing = unsafe { slot.load(Ordering::Acquire).as_ref() };
            let is_it = |thing: &Thing| thing.record.as_bytes() == record.as_os_str().as_bytes();
            if thing.is_some_and(is_it) {
                slot.store(null_mut(), Ordering::Relaxed);
            }
        }
    }

    /// Makes SIGTERM also kill the process group that this process leads, if any.
    pub fn end_group_on_termination() {
        ENDS_GROUP.store(true, Ordering::Relaxed);
    }

    /// Makes SIGTERM remove what this process would leave behind, but for directories, then end it.
    pub fn sweep_on_termination() {
        // SAFETY: the handler makes only async-signal-safe calls.
        unsafe { libc::signal(libc::SIGTERM, on_termination as *const () as libc::sighandler_t) };
    }

    extern "C" fn on_termination(_signal: libc::c_int) {
        // SAFETY: things are never freed; the calls are plain system calls.
        unsafe {
            for slot in &THINGS {
                let thing = slot.load(Ordering::Acquire).as_ref();
                let own = thing.filter(|thing| thing.pid == libc::getpid() as u32);
                if let Some(thing) = own.filter(|thing| thing.remove()) {
                    remove_file(&thing.record);
                }
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
    use std::fs;
    use std::path::Path;

    use super::Kind;

    /// Semaphores of these systems are no files, and stay after a kill.
    #[cfg(unix)]
    pub const SEMAPHORES: &str = "/";

    pub fn remove(_kind: Kind, name: &str) -> bool {
        match fs::symlink_metadata(name) {
            Ok(facts) => {
                !crate::file::private::is_this_users(&facts) || fs::remove_file(name).is_ok()
            }
            Err(_) => true,
        }
    }

    pub fn remember(_kind: Kind, _name: &str, _record: &Path) {}

    pub fn forget(_record: &Path) {}
}

#[cfg(test)]
mod tests {
    use super::super::Directory;
    use super::*;

    /// The highest pid of Linux is 2^22, so no process has this one.
    const DEAD: u32 = 4_194_305;

    /// A record with this text that the ended process `pid` left.
    fn left_by(pid: u32, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(random_name(&format!("{RECORD}{pid}-")));
        private::create_new(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(random_name(&format!("oscost-test-{name}-")))
    }

    #[test]
    fn only_what_dead_processes_left_is_swept() {
        let mine = Recorded::file().unwrap();
        let directory = Directory::new().unwrap();
        let [theirs, unrecorded] = ["theirs", "unrecorded"].map(temporary);
        let folder = temporary("folder");
        fs::create_dir(&folder).unwrap();
        for path in [mine.path(), &theirs, &unrecorded, &folder.join("f0000001")] {
            fs::write(path, "x").unwrap();
        }
        let records = [
            left_by(DEAD, &format!("file {}\0", theirs.display())),
            left_by(DEAD, &format!("directory {}\0", folder.display())),
            // A kill cut it off.
            left_by(DEAD, &format!("file {}", unrecorded.display())),
        ];
        sweep(DEAD + 1);
        assert!(theirs.exists(), "of another process");
        sweep(DEAD);
        sweep_dead();
        assert!(mine.path().exists() && directory.path().exists());
        assert!(!theirs.exists() && !folder.exists());
        assert!(records.iter().all(|record| !record.exists()));
        assert!(unrecorded.exists());
        fs::remove_file(&unrecorded).unwrap();
        let gone = [mine.path().to_owned(), directory.path().to_owned()];
        drop((mine, directory));
        assert!(gone.iter().all(|path| !path.exists()));
    }

    #[test]
    fn a_thing_is_recorded_before_it_exists_and_names_are_not_repeated() {
        let things: Vec<Recorded> = (0..20).map(|_| Recorded::file().unwrap()).collect();
        for thing in &things {
            assert!(!thing.path().exists());
            // Windows reads no locked file.
            if !crate::IS_WINDOWS {
                let text = fs::read(&thing.record).unwrap();
                assert_eq!(parse(&text), Some((Kind::File, thing.name.as_str())));
            }
        }
        assert!(has_things());
        let names: std::collections::BTreeSet<_> = things.iter().map(|one| &one.name).collect();
        assert_eq!(names.len(), 20);
    }

    #[test]
    fn names_that_are_no_records_are_left_alone() {
        assert_eq!(pid_in("oscost-record-17-0123456789abcdef"), Some(17));
        for name in ["oscost-record-17", "oscost-record-x-1", "oscost-worker-17", "record-17-1"] {
            assert_eq!(pid_in(name), None, "{name}");
        }
        assert_eq!(parse(b"file /a b\0"), Some((Kind::File, "/a b")));
        for text in
            [&b""[..], b"file /a", b"link /a\0", b"file\0", b"file \xff\0", b"file /a\0file /b\0"]
        {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    /// Another user could make root remove its files by a record, or by a link in the place of one.
    #[test]
    #[cfg(target_os = "linux")]
    fn records_and_things_of_others_are_left_alone() {
        use std::os::unix::fs::{chown, symlink};

        const OTHER: u32 = 65_534;
        let [mine, theirs] = ["mine", "theirs"].map(temporary);
        fs::write(&mine, "x").unwrap();
        fs::write(&theirs, "x").unwrap();
        if testing::skip_unless(chown(&theirs, Some(OTHER), None).is_ok(), "needs root") {
            return [mine, theirs].iter().for_each(|path| fs::remove_file(path).unwrap());
        }
        const DEAD: u32 = super::tests::DEAD + 2;
        let foreign = left_by(DEAD, &format!("file {}\0", mine.display()));
        chown(&foreign, Some(OTHER), None).unwrap();
        let elsewhere = temporary("elsewhere");
        fs::write(&elsewhere, format!("file {}\0", mine.display())).unwrap();
        let link = std::env::temp_dir().join(random_name(&format!("{RECORD}{DEAD}-")));
        symlink(&elsewhere, &link).unwrap();
        let own = left_by(DEAD, &format!("file {}\0", theirs.display()));
        sweep(DEAD);
        assert!(mine.exists() && foreign.exists() && link.is_symlink(), "by a foreign record");
        assert!(theirs.exists() && !own.exists(), "of a foreign user");
        for path in [mine, theirs, foreign, elsewhere, link] {
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn objects_of_the_dead_are_swept_and_those_of_others_are_not() {
        let things = [
            Recorded::queue().unwrap(),
            Recorded::semaphore_set().unwrap(),
            Recorded::message_queue().unwrap(),
        ];
        let name = std::ffi::CString::new(things[0].name()).unwrap();
        let [set, queue] = [things[1].key(), things[2].key()];
        let mode: libc::mode_t = 0o600;
        let exist = |flags: libc::c_int| {
            // SAFETY: the name is a string that outlives the call; no attributes are given; the descriptor is our own, or -1.
            unsafe {
                let posix = libc::mq_open(
                    name.as_ptr(),
                    flags,
                    mode,
                    std::ptr::null_mut::<libc::mq_attr>(),
                );
                libc::close(posix);
                let flags = if flags == 0 { 0 } else { libc::IPC_CREAT | 0o600 };
                [posix >= 0, libc::semget(set, 1, flags) >= 0, libc::msgget(queue, flags) >= 0]
            }
        };
        if testing::skip_unless(exist(libc::O_CREAT) == [true; 3], "needs queues of both kinds") {
            return;
        }
        // A set that another program made, under a key that is no longer in a record's hands.
        let other = random_key();
        // SAFETY: makes a set; no memory is passed.
        let made = unsafe { libc::semget(other, 1, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        for thing in &things {
            left_by(DEAD + 4, &format!("{} {}\0", <&str>::from(thing.kind), thing.name));
        }
        sweep(DEAD + 4);
        assert_eq!(exist(0), [false; 3]);
        // SAFETY: removes the set; no memory is passed.
        let was_there = unsafe { libc::semctl(made, 0, libc::IPC_RMID) } == 0;
        assert!(made >= 0 && was_there, "a set that no record names was removed");
        drop(things);
    }

    #[test]
    #[cfg(unix)]
    fn a_child_that_is_killed_leaves_what_its_record_names_to_a_sweep() {
        let folder = temporary("killed");
        fs::create_dir(&folder).unwrap();
        // SAFETY: the child makes files, waits, and is killed; it returns from nothing.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let file = Recorded::file().unwrap();
            let directory = Directory::new_in(&folder).unwrap();
            fs::write(file.path(), "x").unwrap();
            fs::write(directory.path().join("f0000001"), "x").unwrap();
            fs::write(folder.join("ready"), file.path().to_str().unwrap()).unwrap();
            loop {
                std::thread::sleep(testing::PATIENCE);
            }
        }
        let ready = folder.join("ready");
        let file =
            testing::until_some(|| fs::read_to_string(&ready).ok().filter(|text| !text.is_empty()));
        sweep(pid as u32);
        assert!(Path::new(&file).exists(), "it is alive");
        // SAFETY: the child is our own, and has not been waited for.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
        sweep(pid as u32);
        assert!(!Path::new(&file).exists());
        fs::remove_file(ready).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
    }
}
