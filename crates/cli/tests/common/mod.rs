//! Runs the real program as a user would: each test has a separate store and temporary folder, and
//! each command a deadline.
#![allow(dead_code, reason = "each test program uses a part of this")]

pub mod browser;
pub mod hosted;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(target_os = "linux")]
pub mod mail;
pub mod servers;
pub mod smtp_server;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A case that every system has.
pub const CASE: &str = "clock/std-instant";

/// Maximum duration of a command in these tests, even on a loaded machine. Under Wine each round's process takes longer to start.
const DEADLINE: Duration = Duration::from_secs(if cfg!(windows) { 400 } else { 120 });

/// Name of the copy of the program in a bench that other users use too.
const COPY: &str = "oscost-copy";

/// A working directory: a store, and a folder for temporary files.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("tmp")).expect("a folder in it");
        Self { folder }
    }

    /// Path of a file of this bench.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("store.sqlite")
    }

    /// Folder where the program puts temporary files.
    pub fn temp(&self) -> PathBuf {
        self.path("tmp")
    }

    /// The command `oscost` with these arguments, separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let copy = self.path(COPY);
        let program = if copy.exists() { copy } else { env!("CARGO_BIN_EXE_oscost").into() };
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env("OSCOST_STORE", self.store())
            .env("TMPDIR", self.temp())
            // Windows uses these names for the folder.
            .env("TMP", self.temp())
            .env("TEMP", self.temp())
            .env("LC_ALL", "C.UTF-8")
            .env("COLUMNS", "160")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `oscost` with these arguments to its end.
    pub fn oscost(&self, arguments: &str) -> Said {
        finish(&mut self.command(arguments))
    }

    /// Permits every user to work here, with a copy of the program: only its owner may be able to enter the folder in which it
    /// was built.
    #[cfg(unix)]
    pub fn open_to_all(&self) {
        use std::os::unix::fs::PermissionsExt;
        for folder in [self.path("."), self.temp()] {
            let all = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(folder, all).expect("our own folder");
        }
        std::fs::copy(env!("CARGO_BIN_EXE_oscost"), self.path(COPY)).expect("room for a copy");
    }

    /// Writes a file of this bench.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file is written");
        path
    }
}

/// The output of a command, and its exit code (`None` if a signal ended it).
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Checks the exit code.
    #[track_caller]
    pub fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.err, self.out);
        self
    }

    /// Checks that the command ended normally: with measurements, or with reasons for missing ones.
    #[track_caller]
    pub fn ended(self) -> Self {
        assert!(matches!(self.code, Some(0 | 3)), "{:?}: {}\n{}", self.code, self.err, self.out);
        self
    }

    /// Checks that stderr is one line that contains all these texts.
    #[track_caller]
    pub fn complains(self, words: &[&str]) -> Self {
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(self.err.starts_with("oscost: "), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in: {}", self.err);
        }
        self
    }

    /// Stdout as a JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    /// The id of the run that was saved.
    #[track_caller]
    pub fn saved(&self) -> String {
        let id = self.err.lines().find_map(|line| line.strip_prefix("oscost: saved as run "));
        id.unwrap_or_else(|| panic!("nothing was saved: {}", self.err)).to_owned()
    }
}

/// Runs a command to its end; it must neither panic nor exceed its deadline.
pub fn finish(command: &mut Command) -> Said {
    said_by(started(command))
}

/// Starts a command. It is tried again because Wine occasionally cannot start a process on a busy machine.
pub fn started(command: &mut Command) -> Child {
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    for _ in 0..3 {
        match command.spawn() {
            Err(e) if cfg!(windows) && e.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {}
            other => return other.expect("the program starts"),
        }
    }
    panic!("Wine did not start the program, again and again");
}

/// Waits for a started command.
pub fn said_by(child: Child) -> Said {
    said_within(child, DEADLINE)
}

/// Waits for a started command for at most this time.
pub fn said_within(mut child: Child, deadline: Duration) -> Said {
    let out = read(child.stdout.take());
    let err = read(child.stderr.take());
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break Some(status);
        }
        if began.elapsed() > deadline {
            eprintln!("{}", threads_of_program());
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (out, err) = (out.join().expect("a reader"), err.join().expect("a reader"));
    let status = status.unwrap_or_else(|| panic!("it did not end: {err}\n{out}"));
    assert!(!err.contains("panicked"), "{err}");
    Said { code: status.code(), out, err }
}

/// A line for each thread of each running oscost, with its state and where it waits; empty on systems without Linux's /proc.
fn threads_of_program() -> String {
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let text = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let is_program = |path: &PathBuf| text(path.join("cmdline")).contains("oscost");
    let threads = list(Path::new("/proc")).into_iter().filter(is_program);
    let line = |thread: PathBuf| {
        let [stat, waits] = ["stat", "wchan"].map(|name| text(thread.join(name)));
        let stat: String = stat.chars().take(60).collect();
        format!("{}: {stat} {waits}", thread.display())
    };
    let lines = threads.flat_map(|path| list(&path.join("task"))).map(line);
    lines.collect::<Vec<_>>().join("\n")
}

fn read(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).expect("a pipe is read");
        }
        String::from_utf8(bytes).expect("what people read is UTF-8")
    })
}

/// The entries of a document's `results` whose metric is the time of one operation.
pub fn times(document: &Value) -> Vec<&Value> {
    let results = document["results"].as_array().expect("results");
    results.iter().filter(|result| result["metric"] == "time").collect()
}

/// Checks that a measured figure lies within its interval, which it has exactly if there were three rounds: a busy machine makes
/// fewer in a short run.
pub fn has_interval_if_evidence(result: &Value) {
    let end = |name: &str| result["estimate"][name].as_f64();
    let median = end("median").expect("a figure");
    match (end("low"), end("high")) {
        (Some(low), Some(high)) => {
            assert!(0.0 < low && low <= median && median <= high, "{result}")
        }
        (None, None) => assert!(median > 0.0 && result["rounds"].as_u64() < Some(3), "{result}"),
        _ => panic!("half an interval: {result}"),
    }
}

/// The codes of a result's doubts.
pub fn codes_of_doubts(result: &Value) -> Vec<&str> {
    let doubts = result["doubts"].as_array().map_or(&[][..], Vec::as_slice);
    doubts.iter().map(|doubt| doubt["code"].as_str().expect("a code")).collect()
}

/// Runs all these checks at the same time, since they mostly wait. Panics if one does.
pub fn at_once<T: Sync>(all: &[T], check: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        let check = &check;
        let checks: Vec<_> = all.iter().map(|one| scope.spawn(move || check(one))).collect();
        let failed = checks.into_iter().filter_map(|one| one.join().err()).count();
        assert!(failed == 0, "{failed} of {} checks failed, see above", all.len());
    });
}

/// Names of the entries of a folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder is read").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
