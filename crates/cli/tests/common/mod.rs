//! Runs the real program as a user would: each test has a separate store and temporary folder, and
//! each command a deadline.
#![allow(dead_code, reason = "each test program uses a part of this")]

#[cfg(target_os = "linux")]
pub mod browser;
#[cfg(target_os = "linux")]
pub mod exported;
pub mod hosted;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(target_os = "linux")]
pub mod mail;
#[cfg(target_os = "linux")]
pub mod needs;
pub mod nights;
pub mod pages;
pub mod servers;
pub mod smtp_server;

use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_oscost");

/// A case that every system has.
pub const CASE: &str = "clock/std-instant";

/// Options of the shortest possible run.
pub const SHORT: &str = "--quick --precision 50% --budget 60s";

/// The arguments for the shortest possible run of these points, which prints its document.
pub fn short(points: &str) -> String {
    format!("run {points} {SHORT} --json")
}

/// Maximum duration of a command in these tests, even on a loaded machine. Under Wine each round's process takes longer to start.
const DEADLINE: Duration = Duration::from_secs(if cfg!(windows) { 400 } else { 120 });

/// Name of the copy of the program in a bench that other users use too.
const COPY: &str = "oscost-copy";

/// Ends a test that lacks something it needs. The function of [`needs`] that looks for it has reported the test as skipped.
#[cfg(target_os = "linux")]
macro_rules! skip_unless {
    ($is_there:expr) => {
        if !$is_there {
            return;
        }
    };
}
#[cfg(target_os = "linux")]
pub(crate) use skip_unless;

/// A working directory: a store, and a folder for temporary files.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        bench.folder("tmp");
        bench
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
        let program = if copy.exists() { copy } else { PROGRAM.into() };
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

    /// The document of the shortest possible run of these points.
    #[track_caller]
    pub fn measured(&self, points: &str) -> Value {
        self.oscost(&short(points)).with(0).json()
    }

    /// Checks that each command is wrong usage, and complains with all these texts.
    #[track_caller]
    pub fn refuses(&self, commands: &[(&str, &[&str])]) {
        for (arguments, words) in commands {
            let said = self.oscost(arguments).with(2).complains(words);
            assert!(said.out.is_empty(), "{arguments}: {}", said.out);
        }
    }

    /// Checks that this command is wrong usage with each of these arguments, and complains with all these texts.
    #[track_caller]
    pub fn refuses_with(&self, command: &str, arguments: &[(&str, &[&str])]) {
        for (more, words) in arguments {
            self.refuses(&[(&format!("{command} {more}"), words)]);
        }
    }

    /// The text of a file of this bench.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Creates a folder in this bench.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.path(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    }

    /// The rows of a comparison of two runs, with these arguments of `compare`.
    #[track_caller]
    pub fn compared(&self, arguments: &str) -> Vec<Value> {
        let document = self.oscost(&format!("compare {arguments} --json")).with(0).json();
        document["comparisons"][0]["rows"].as_array().expect("rows").clone()
    }

    /// Permits every user to work here, with a copy of the program: only its owner may be able to enter the folder in which it
    /// was built.
    #[cfg(target_os = "linux")]
    pub fn open_to_all(&self) {
        for folder in [self.path("."), self.temp()] {
            linux::set_mode(&folder, 0o777);
        }
        // While this process had a copy open for writing, a child of another test would inherit it and prevent its start.
        std::fs::hard_link(PROGRAM, self.path(COPY)).unwrap_or_else(|_| {
            let copied = Command::new("cp").arg(PROGRAM).arg(self.path(COPY)).status();
            assert!(copied.expect("cp").success(), "there is no room for a copy");
        });
    }

    /// Writes a file of this bench.
    pub fn write(&self, name: &str, text: &(impl AsRef<[u8]> + ?Sized)) -> PathBuf {
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

    /// Checks that stdout contains all these texts.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        self.out.says(words);
        self
    }

    /// Checks that stdout contains none of these texts.
    #[track_caller]
    pub fn lacks(self, words: &[&str]) -> Self {
        self.out.lacks(words);
        self
    }

    /// Checks that stderr contains all these texts.
    #[track_caller]
    pub fn notes(self, words: &[&str]) -> Self {
        self.err.says(words);
        self
    }

    /// Checks that stderr is one line that contains all these texts.
    #[track_caller]
    pub fn complains(self, words: &[&str]) -> Self {
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(self.err.starts_with("oscost: "), "{}", self.err);
        self.notes(words)
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

    /// The ids of all runs that were saved or imported.
    pub fn acknowledged(&self) -> Vec<String> {
        let lines = self.err.lines().filter_map(|line| line.strip_prefix("oscost: "));
        let ids = lines.filter_map(|line| {
            let imported =
                line.strip_prefix("run ").and_then(|rest| rest.strip_suffix(" is imported"));
            let saved = || {
                line.strip_prefix("saved as run")?.trim_start_matches('s').split(" after").next()
            };
            imported.or_else(saved)
        });
        ids.flat_map(|ids| ids.split(", ")).map(|id| id.trim().to_owned()).collect()
    }
}

/// What a text says, wherever its lines are broken.
pub trait Says {
    /// Checks that a text contains all these words.
    #[track_caller]
    fn says(&self, words: &[&str]);

    /// Checks that a text contains none of these words.
    #[track_caller]
    fn lacks(&self, words: &[&str]);
}

impl Says for str {
    fn says(&self, words: &[&str]) {
        let flat = unbroken(self);
        for word in words {
            assert!(self.contains(word) || flat.contains(word), "{word:?} is not in: {self}");
        }
    }

    fn lacks(&self, words: &[&str]) {
        let flat = unbroken(self);
        for word in words {
            assert!(!self.contains(word) && !flat.contains(word), "{word:?} is in: {self}");
        }
    }
}

/// Runs a command to its end; it must neither panic nor exceed its deadline.
pub fn finish(command: &mut Command) -> Said {
    said_by(started(command))
}

/// Starts a command. It is tried again where Wine cannot start a process on a busy machine, and where a child of another test has
/// not yet closed the script or program that this test has just written.
pub fn started(command: &mut Command) -> Child {
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    for _ in 0..100 {
        match command.spawn() {
            Err(e) if cfg!(windows) && e.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {}
            Err(e) if e.kind() == ErrorKind::ExecutableFileBusy => std::thread::sleep(PAUSE),
            other => return other.expect("the program starts"),
        }
    }
    panic!("the program did not start, again and again");
}

/// Runs another program to its end, such as a script, a compiler or a browser.
pub fn run(command: &mut Command) -> Said {
    const DEADLINE: Duration = Duration::from_secs(600);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    said_within(started(piped), DEADLINE)
}

/// Waits for a started command.
pub fn said_by(child: Child) -> Said {
    said_within(child, DEADLINE)
}

/// Kills our own child.
pub fn kill(child: &mut Child) {
    child.kill().expect("our own child");
    child.wait().expect("our own child");
}

/// Kills processes of a run until `wanted` were killed, or this time is over: after a random time each the worker, or another of at
/// least `least` processes that the coordinator has started. Returns how many.
#[cfg(target_os = "linux")]
pub fn kill_some(
    run: &Child,
    wanted: usize,
    least: usize,
    pause_ms: usize,
    time: Duration,
) -> usize {
    let (began, mut killed) = (Instant::now(), 0);
    while killed < wanted && began.elapsed() < time {
        run_on(pause_ms);
        killed += usize::from(linux::kill_any_descendant(run.id(), least));
    }
    killed
}

/// Runs a command for a random time, and kills it, every time but each third one after a process that it has started: a worker, a
/// server, a sink, or the process of a connection.
#[cfg(target_os = "linux")]
pub fn killed_halfway(bench: &Bench, run: &str, at_most_ms: usize, nth: usize) {
    let mut run = started(&mut bench.command(run));
    run_on(at_most_ms);
    if !nth.is_multiple_of(3) && linux::kill_any_descendant(run.id(), 1) {
        run_on(300);
    }
    run.kill().expect("our own child");
    said_by(run);
}

/// Waits for a started command for at most this time.
pub fn said_within(mut child: Child, deadline: Duration) -> Said {
    let out = read(child.stdout.take());
    let err = read(child.stderr.take());
    let mut status = None;
    let has_ended = || {
        status = child.try_wait().expect("our own child");
        status.is_some()
    };
    if !holds_within(deadline, has_ended) {
        eprintln!("{}", threads_of_program());
        kill(&mut child);
    }
    let (out, err) = (out.join().expect("a reader"), err.join().expect("a reader"));
    let status = status.unwrap_or_else(|| panic!("it did not end: {err}\n{out}"));
    assert!(!err.contains("panicked"), "{err}");
    Said { code: status.code(), out, err }
}

/// Pause between two looks at what is waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until a condition holds, for at most this time; returns whether it does.
pub fn holds_within(time: Duration, mut so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !so() {
        if began.elapsed() > time {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Waits until a condition holds; fails if it does not within two minutes.
#[track_caller]
pub fn until(what: &str, so: impl FnMut() -> bool) {
    until_within(Duration::from_secs(120), what, so);
}

/// Waits until a condition holds; fails if it does not within this time.
#[track_caller]
pub fn until_within(time: Duration, what: &str, so: impl FnMut() -> bool) {
    assert!(holds_within(time, so), "it was never so: {what}");
}

/// How often something is killed: `OSCOST_KILLS` times if that is set.
pub fn kills(usual: usize) -> usize {
    number("OSCOST_KILLS", usual)
}

/// A number from the environment, or a default.
pub fn number<N: FromStr>(name: &str, usual: N) -> N {
    let value = std::env::var(name).ok();
    value.map_or(usual, |value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// A random number below `limit`.
pub fn random(limit: usize) -> usize {
    RandomState::new().hash_one(Instant::now()) as usize % limit
}

/// Lets what is to be killed run for a random time, so that the kill meets it anywhere.
pub fn run_on(at_most_ms: usize) {
    std::thread::sleep(Duration::from_millis(random(at_most_ms) as u64));
}

/// A port of the loopback interface that is free now.
pub fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("a port")
}

/// A file or folder of the repository.
pub fn of_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The text of a file of the repository.
#[track_caller]
pub fn text_of(path: &str) -> String {
    std::fs::read_to_string(of_repository(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
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

/// Checks that all points were measured.
#[track_caller]
pub fn are_measured(document: &Value) {
    for result in times(document) {
        assert_eq!(result["outcome"], "measured", "{result}");
    }
}

/// The results of this metric.
pub fn of_metric<'a>(document: &'a Value, metric: &str) -> Vec<&'a Value> {
    let results = document["results"].as_array().expect("results");
    results.iter().filter(|result| result["metric"] == metric).collect()
}

/// The only result of this metric that has these parameters.
#[track_caller]
pub fn result<'a>(document: &'a Value, metric: &str, params: &[(&str, &str)]) -> &'a Value {
    let mut all = of_metric(document, metric);
    all.retain(|result| params.iter().all(|(name, value)| result["params"][name] == *value));
    let [one] = all[..] else { panic!("{} of {metric} {params:?}: {document}", all.len()) };
    one
}

/// The figure of [`result`].
#[track_caller]
pub fn figure(document: &Value, metric: &str, params: &[(&str, &str)]) -> f64 {
    let result = result(document, metric, params);
    result["estimate"]["median"].as_f64().unwrap_or_else(|| panic!("no figure: {result}"))
}

/// The system calls of one operation; `None`, and the test is skipped, where they are not counted.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn calls_counted(result: &Value) -> Option<f64> {
    let calls = result["per_op"]["syscalls"].as_f64();
    let why_not = calls.is_none().then_some("system calls are not counted here");
    if needs::granted(why_not) { calls } else { None }
}

/// Checks that few connections are measured, and many are not, because of this limit.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn is_limited(document: &Value, connections: [&str; 2], limit: &str) {
    let [few, many] = connections.map(|it| result(document, "time", &[("connections", it)]));
    assert_eq!((&few["outcome"], &many["outcome"]), (&"measured".into(), &"unsupported".into()));
    assert!(many["reason"].as_str().is_some_and(|why| why.contains(limit)), "{many}");
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

/// Text with single spaces, as it was before it was broken into lines.
pub fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names of the entries of a folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder is read").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
