//! What another user of the machine prepares for root: nothing of it is followed, executed, believed or removed, also while commands are
//! killed at random moments, which lose nothing that they had acknowledged.
//!
//! `OSCOST_KILLS=300 cargo test -p oscost --test commands others:: -- --nocapture` kills more often than a default test.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use results::Store;

use crate::common::linux::{
    NOBODY, as_nobody, before, kill_any_descendant, nobody_is_left, set_mode, started_apart,
};
use crate::common::{
    Bench, entries, kills, needs, random, run_on, said_by, short, skip_unless, started,
};

/// The first byte of this key was once that of workers' keys.
const KEY: libc::key_t = 0x5c7f_fff1;
/// Name of a message queue.
const QUEUE: &str = "/oscost-worker-4194301";
/// The highest pid of Linux is 2^22, so no process has this one.
const DEAD: u32 = 4_194_305;

/// What another user has made.
struct Other {
    /// A process of that user whose arguments and environment look like those of a system's.
    process: Child,
    victim: PathBuf,
    /// Names in the folder of temporary files.
    planted: BTreeSet<String>,
}

impl Other {
    /// Makes a semaphore set, queues and a process as another user; links, folders, records and files in `bench.temp()` that
    /// belong to that user and name a file of root's.
    fn plant(bench: &Bench) -> Self {
        let (temp, victim) = (bench.temp(), bench.write("victim", "precious"));
        set_mode(&temp, 0o1777);
        let queue = CString::new(QUEUE).expect("no NUL");
        let mut command = Command::new("sleep");
        command.arg("600").arg0(format!("{}/oscost-system-{DEAD}-1", temp.display()));
        command.env("OSCOST_SYSTEM", temp.join(format!("oscost-system-{DEAD}-1")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        before(as_nobody(&mut command), move || {
            let mode: libc::mode_t = 0o600;
            // SAFETY: plain calls; the name ends with NUL and no attributes are given.
            unsafe {
                let nothing = std::ptr::null_mut::<libc::mq_attr>();
                libc::mq_open(queue.as_ptr(), libc::O_CREAT | libc::O_RDWR, mode, nothing);
                libc::semget(KEY, 1, libc::IPC_CREAT | 0o600);
                libc::msgget(KEY, libc::IPC_CREAT | 0o600);
            }
            Ok(())
        });
        let process = started(&mut command);
        let owned = |path: &Path| lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
        let link = |name: String| {
            symlink(&victim, temp.join(&name)).expect("a link");
            owned(&temp.join(&name));
        };
        let folder = |name: String| {
            fs::create_dir(temp.join(&name)).expect("a folder");
            owned(&temp.join(&name));
            temp.join(name)
        };
        // Names that commands had for files of their own, with the pids of the next processes.
        for pid in process.id()..process.id() + 1_000 {
            link(format!("oscost-worker-{pid}"));
            folder(format!("oscost-files-{pid}"));
        }
        let record = format!("oscost-record-{DEAD}-0123456789abcdef");
        fs::write(temp.join(&record), format!("file {}\0", victim.display())).expect("a file");
        owned(&temp.join(&record));
        link(format!("oscost-record-{DEAD}-1123456789abcdef"));
        let system = folder(format!("oscost-system-{DEAD}-0123456789abcdef"));
        for (name, text) in [
            ("lock", String::new()),
            ("created", format!("{{\"file\":\"{}\"}}\n", victim.display())),
        ] {
            fs::write(system.join(name), text).expect("a file");
            owned(&system.join(name));
        }
        let planted = entries(&temp).into_iter().collect();
        Self { process, victim, planted }
    }

    /// Checks that everything is as it was made; `folder` has what is there besides.
    #[track_caller]
    fn is_untouched(&mut self, bench: &Bench) {
        assert_eq!(fs::read_to_string(&self.victim).expect("it is there"), "precious");
        let now: BTreeSet<String> = entries(&bench.temp()).into_iter().collect();
        let gone: Vec<_> = self.planted.difference(&now).collect();
        assert!(gone.is_empty(), "{gone:?}");
        assert!(self.process.try_wait().expect("our child").is_none(), "a process was ended");
        assert!(objects().iter().all(|&is_there| is_there), "{:?}", objects());
    }
}

/// Whether the queue, the set, and the System V queue of the other user are there. Root can open all.
fn objects() -> [bool; 3] {
    let queue = CString::new(QUEUE).expect("no NUL");
    // SAFETY: the name ends with NUL; a descriptor is closed, and -1 is refused.
    unsafe {
        let posix = libc::mq_open(queue.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK);
        libc::close(posix);
        [posix >= 0, libc::semget(KEY, 0, 0) >= 0, libc::msgget(KEY, 0) >= 0]
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let queue = CString::new(QUEUE).expect("no NUL");
        // SAFETY: removes what this test has made; the name ends with NUL.
        unsafe {
            libc::mq_unlink(queue.as_ptr());
            libc::semctl(libc::semget(KEY, 0, 0), 0, libc::IPC_RMID);
            libc::msgctl(libc::msgget(KEY, 0), libc::IPC_RMID, std::ptr::null_mut());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn nothing_of_another_user_is_touched_and_nothing_acknowledged_is_lost() {
    const SYSTEMS: &str = "run clock/std-instant --on native --on again=native --quick --budget 1s";
    const OBJECTS: &str =
        "lock/sysv-sem lock/posix-sem-named lock/flock ipc/posix-queue ipc/sysv-queue ipc/fifo";
    const FILES: &str = "file/create syscall/open-close process/posix-spawn";
    skip_unless!(needs::root("to have another user beside it"));
    let bench = Bench::new();
    let mut other = Other::plant(&bench);
    let first = bench.oscost(&short("clock/std-instant")).with(0);
    let id = first.saved();
    let mut known: BTreeSet<String> = [id.clone()].into();
    let (wanted, mut killed) = (kills(8), 0);
    for nth in 0..wanted {
        let command = match nth % 5 {
            0 => short(OBJECTS),
            1 => SYSTEMS.to_owned(),
            2 => short(FILES),
            3 => {
                let new = format!("20200101-{nth:06}-abcd");
                bench.write("import.json", &first.out.replace(&id, &new));
                "import import.json".to_owned()
            }
            _ => "runs --thin 1d".to_owned(),
        };
        let mut child = started_apart(&mut bench.command(&command));
        run_on(if nth % 5 < 3 { 1_500 } else { 120 });
        let has_killed = random(3) > 0 && kill_any_descendant(child.id(), 1);
        run_on(if has_killed { 200 } else { 1 });
        killed += usize::from(child.try_wait().expect("our child").is_none());
        child.kill().expect("our own child");
        known.extend(said_by(child).acknowledged());
        other.is_untouched(&bench);
        nobody_is_left(&bench);
        let store = Store::open_read_only(&bench.store()).expect("it is a store");
        let stored: BTreeSet<String> = store
            .runs()
            .expect("it can be read")
            .into_iter()
            .map(|run| run.id.to_string())
            .collect();
        let lost: Vec<_> = known.difference(&stored).collect();
        assert!(lost.is_empty(), "after {command}: {lost:?}");
    }
    // The next run on systems removes what killed ones left.
    bench.oscost(SYSTEMS).with(0);
    let left = || {
        let now = entries(&bench.temp()).into_iter();
        now.filter(|name| !other.planted.contains(name)).collect::<Vec<_>>()
    };
    assert_eq!(left(), Vec::<String>::new());
    other.is_untouched(&bench);
    println!("{killed} of {wanted} commands killed; {} runs acknowledged, all there", known.len());
}

#[test]
fn a_file_of_systems_that_another_user_left_here_is_not_executed() {
    const LINE: &str = "line = \"sh -c 'touch executed; exec {oscost} agent'\"\n";
    let bench = Bench::new();
    let system = |name: &str| format!("[{name}]\nlauncher = \"command\"\n{LINE}");
    let file = bench.write("systems.toml", &system("native"));
    let run = format!("run clock/std-instant --on native --on mine {}", "--quick --budget 300ms");
    bench.refuses(&[(&run, &["systems.toml:1:2", "native is built in"])]);
    fs::write(&file, system("mine")).expect("our own file");
    set_mode(&file, 0o666);
    bench.refuses(&[(&run, &["systems.toml", "others can write to it"])]);
    set_mode(&file, 0o644);
    if needs::root("to give a file to another user") {
        lchown(&file, Some(NOBODY), Some(NOBODY)).expect("root may");
        bench.refuses(&[(&run, &["it belongs to the user 65534", "--systems ./systems.toml"])]);
        assert!(!bench.path("executed").exists());
        lchown(&file, Some(0), Some(0)).expect("root may");
    }
    bench.oscost(&run).ended().notes(&["systems of systems.toml"]);
    assert!(bench.path("executed").exists());
}
