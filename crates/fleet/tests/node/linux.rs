//! The tests on Linux.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use platform::process::hosted;
use platform::process::machine_lock::{LockState, MachineLock};
use results::{Document, Store};
use serde_json::{Value, json};

const NAME: &str = "oscost-node";
const JOB: &str = "20261127-203501-1a2b";
/// A user without rights.
const NOBODY: u32 = 65_534;
/// The argument of a run that does not end.
const ENDLESS: &str = "endless";

/// Runs the tests; or, with arguments, the part of a job on a node, and the run that it starts.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("node") => fleet::serve(&mut std::io::stdin().lock(), &mut std::io::stdout())
            .expect("an order on standard input"),
        Some("run") => measure(&arguments),
        _ if testing::skip_unless(is_apart(), "root: other users, and namespaces") => {}
        _ => {
            return testing::alone(testing::tests![
                an_ordinary_user_measures_where_locks_are_roots,
                a_foreign_holder_is_named_and_never_touched,
                nothing_that_another_user_wrote_is_followed,
                an_own_run_that_hangs_is_killed_and_its_lock_is_free,
            ]);
        }
    }
    ExitCode::SUCCESS
}

/// Enters namespaces whose lock and mounts are this process's own; false where that is denied.
fn is_apart() -> bool {
    let is_done = |result: libc::c_int| result == 0;
    // SAFETY: the texts end with NUL, and this process has one thread.
    unsafe {
        is_done(libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS)) && {
            let (none, root) = (std::ptr::null(), c"/".as_ptr());
            is_done(libc::mount(none, root, none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))
        }
    }
}

/// Stands for `oscost run`: stores one run, or goes on for ever.
fn measure(arguments: &[String]) {
    let after = |option: &str| {
        let at = arguments.iter().position(|argument| argument == option).expect("an option");
        arguments[at + 1].clone()
    };
    let tags: serde_json::Map<String, Value> = arguments
        .windows(2)
        .filter(|pair| pair[0] == "--tag")
        .filter_map(|pair| pair[1].split_once('='))
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    while arguments.iter().any(|argument| argument == ENDLESS) {
        std::thread::sleep(Duration::from_secs(600));
    }
    let document = json!({
        "schema": 1, "machine": {}, "results": [],
        "run": {
            "id": "run-n1", "started": "2026-11-27T20:35:01Z", "finished": "2026-11-27T20:36:01Z",
            "seed": 1, "oscost": "0.1.0", "tags": tags, "area_seconds": {},
        },
    });
    let document = results::parse_document(&document.to_string()).expect("a document");
    let mut store = Store::open(Path::new(&after("--store"))).expect("a store");
    store.import(&document).expect("it is stored");
}

/// A directory with a copy of this program that all users can execute.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::Builder::new().tempdir_in("/tmp").expect("a directory"));
        lab.set_mode("", 0o755);
        fs::copy(std::env::current_exe().expect("this program"), lab.path("program"))
            .expect("a copy");
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).expect("our own");
    }

    /// Makes a directory of this user.
    fn directory(&self, name: &str, user: u32, mode: u32) -> PathBuf {
        fs::create_dir_all(self.path(name)).expect("a directory");
        chown(self.path(name), Some(user), Some(user)).expect("root may");
        self.set_mode(name, mode);
        self.path(name)
    }

    /// Starts the node's part with an order, as this user with this cache.
    fn start(&self, act: &str, arguments: &[&str], user: u32, cache: &Path) -> Child {
        let order = json!({
            "act": act, "job": JOB, "node": "n1", "by": "ann@front", "arguments": arguments,
            "limit": { "secs": 600, "nanos": 0 }, "wait": { "secs": 0, "nanos": 0 },
        });
        let mut command = Command::new(self.path("program"));
        command.arg("node").env("XDG_CACHE_HOME", cache).uid(user).gid(user).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(format!("{order}\n").as_bytes()).expect("it reads");
        child
    }

    /// What the node's part says to an order, to its end.
    fn says(&self, act: &str, user: u32, cache: &Path) -> Vec<Value> {
        let said = self.start(act, &[], user, cache).wait_with_output().expect("it ends");
        let said = String::from_utf8(said.stdout).expect("text");
        said.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
    }
}

fn kinds(said: &[Value]) -> Vec<&str> {
    said.iter().map(|message| message["oscost-fleet"].as_str().expect("a kind")).collect()
}

/// Starts a process of another user that does this, and goes on when it says so.
fn as_nobody(act: impl FnOnce() -> Box<dyn std::any::Any>) -> platform::process::Child {
    let (mut ready, mut is_ready) = std::io::pipe().expect("a pipe");
    let child = platform::process::fork(|| {
        // SAFETY: the calls take numbers only; the empty list is not read.
        let results = unsafe {
            [libc::setgroups(0, std::ptr::null()), libc::setgid(NOBODY), libc::setuid(NOBODY)]
        };
        assert_eq!(results, [0; 3]);
        let _held = act();
        is_ready.write_all(b"!").expect("the parent reads");
        loop {
            std::thread::sleep(Duration::from_secs(600));
        }
    });
    let child = child.expect("a process");
    let mut byte = [0];
    ready.read_exact(&mut byte).expect("it is ready");
    child
}

/// A process of root that somebody wants to be ended.
fn victim() -> Child {
    Command::new("sleep").arg("600").spawn().expect("it starts")
}

/// The record of a process, as of a run of the job.
fn record_of(pid: u32) -> String {
    let identity = hosted::identity(pid);
    json!({
        "pid": pid, "identity": identity, "job": JOB, "node": "n1", "by": "ann@front",
        "since": "2026-11-29T17:00:00Z",
    })
    .to_string()
}

fn lives(child: &mut Child) -> bool {
    child.try_wait().expect("it was started").is_none()
}

fn end(mut child: Child) {
    child.kill().expect("it was started");
    child.wait().expect("it was started");
}

/// Mounts an empty directory for locks.
fn mount_locks(options: &str) {
    let mut command = Command::new("mount");
    let mounted = command.args(["-t", "tmpfs", "-o", options, "tmpfs", "/run/lock"]).status();
    assert!(mounted.expect("mount").success());
}

fn an_ordinary_user_measures_where_locks_are_roots() {
    let lab = Lab::new();
    mount_locks("mode=755");
    for user in [NOBODY, 0] {
        let cache = lab.directory(&format!("cache-{user}"), user, 0o700);
        let said = lab.says("measure", user, &cache);
        assert_eq!(kinds(&said), ["begun", "part", "document"], "{said:?}");
        let text = said[1]["text"].as_str().expect("a text");
        assert_eq!(said[2]["bytes"].as_u64(), Some(text.len() as u64));
        let document: Document = results::parse_document(text).expect("a document");
        assert_eq!(document.run.tags["fleet"], JOB);
        // A repeated order returns the run that is there, and the holder's record is gone.
        assert_eq!(lab.says("measure", user, &cache), said);
        let holders = fs::read_dir(cache.join("oscost/holders")).expect("a directory");
        assert_eq!(holders.count(), 0);
        let mode = |name: &str| {
            let data = fs::metadata(cache.join(name)).expect("it is there");
            data.permissions().mode() & 0o777
        };
        assert_eq!([mode("oscost"), mode("oscost/holders")], [0o700, 0o700]);
        assert_eq!(mode(&format!("oscost/fleet/{JOB}/n1/run.log")), 0o600);
    }
}

fn a_foreign_holder_is_named_and_never_touched() {
    let lab = Lab::new();
    let cache = lab.directory("cache", 0, 0o700);
    lab.directory(&format!("cache/oscost/fleet/{JOB}/n1"), 0, 0o700);
    let mut holder =
        as_nobody(|| Box::new(MachineLock::take(NAME).expect("a lock").expect("it is free")));
    let said = lab.says("measure", 0, &cache);
    assert_eq!(kinds(&said), ["failed"], "{said:?}");
    let named =
        format!("the node is held by process {} of another user, user id {NOBODY}", holder.pid());
    assert_eq!(said[0]["reason"], named.as_str());
    assert_eq!(kinds(&lab.says("end", 0, &cache)), ["ended"]);
    assert_eq!(holder.try_wait(), None);
    // Who asks often keeps nobody from measuring later.
    drop(holder);
    assert_eq!(kinds(&lab.says("measure", 0, &cache)), ["begun", "part", "document"]);
}

/// Another user names a process of root as the holder of the node, wherever a node looks or ever looked.
fn nothing_that_another_user_wrote_is_followed() {
    let lab = Lab::new();
    mount_locks("mode=1777");
    let mut victim = victim();
    let record = record_of(victim.id());
    let file = Path::new("/run/lock/oscost-node.lock");
    let text = record.clone();
    let locked = as_nobody(move || {
        let mut planted = File::create(file).expect("a file");
        planted.set_permissions(Permissions::from_mode(0o666)).expect("its own");
        planted.write_all(text.as_bytes()).expect("written");
        planted.try_lock().expect("locked");
        Box::new((planted, MachineLock::take(NAME).expect("a lock").expect("it is free")))
    });
    // A cache that all can write, where somebody was first.
    let cache = lab.directory("cache", 0, 0o1777);
    for name in ["cache/oscost", "cache/oscost/fleet"] {
        lab.directory(name, 0, 0o755);
    }
    lab.directory(&format!("cache/oscost/fleet/{JOB}"), 0, 0o700);
    lab.directory(&format!("cache/oscost/fleet/{JOB}/n1"), 0, 0o700);
    let holders = lab.directory("cache/oscost/holders", NOBODY, 0o755);
    let planted = holders.join("planted");
    fs::write(&planted, record).expect("a file");
    chown(&planted, Some(NOBODY), Some(NOBODY)).expect("root may");
    assert_eq!(kinds(&lab.says("end", 0, &cache)), ["ended"]);
    let said = lab.says("measure", 0, &cache);
    assert!(said[0]["reason"].as_str().is_some_and(|why| why.contains("another user")), "{said:?}");
    assert!(lives(&mut victim));
    drop(locked);
    end(victim);

    // A link in the place of the former lock.
    let precious = lab.path("precious");
    fs::write(&precious, "content").expect("a file");
    fs::remove_file(file).expect("it is there");
    symlink(&precious, file).expect("a link");
    let own = lab.directory("own", 0, 0o700);
    assert_eq!(kinds(&lab.says("measure", 0, &own)), ["begun", "part", "document"]);
    assert_eq!(fs::read_to_string(&precious).expect("a file"), "content");
}

fn an_own_run_that_hangs_is_killed_and_its_lock_is_free() {
    let lab = Lab::new();
    let cache = lab.directory("cache", NOBODY, 0o700);
    let mut first = lab.start("measure", &[ENDLESS], NOBODY, &cache);
    let mut lines = BufReader::new(first.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), r#"{"oscost-fleet":"begun"}"#);
    let LockState::Held(owner) = MachineLock::state(NAME).expect("a state") else { panic!() };
    assert_eq!((owner.pid, owner.uid), (first.id(), NOBODY));
    // Another user learns whose process it is.
    let other = lab.says("measure", 0, &lab.directory("root", 0, 0o700));
    let process = format!("held by process {} of another user", first.id());
    assert!(other[0]["reason"].as_str().is_some_and(|why| why.contains(&process)), "{other:?}");
    // SAFETY: takes numbers only; the process is this test's.
    unsafe { libc::kill(first.id() as libc::pid_t, libc::SIGSTOP) };
    let said = lab.says("end", NOBODY, &cache);
    assert_eq!(kinds(&said), ["ended"], "{said:?}");
    first.wait().expect("it was killed");
    testing::until(|| MachineLock::state(NAME).expect("a state") == LockState::Free);
}
