//! Builds all programs of tests, runs them several at a time, and sums up what passed, failed and was skipped for want of what.
//!
//!     scripts/test [--skipped] [ARGUMENTS OF cargo test, such as -p oscost-report]
//!
//! `cargo test --workspace` runs the same tests one program after the other. With `--skipped`, only those programs run in which the
//! last run skipped a test, as after an installation of what was missing.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How many programs run at a time. Their tests are threads, as many as there are CPUs, or [`WAITING_THREADS`].
const AT_ONCE: usize = 4;
/// Programs whose tests wait for most of their time, by package and name, in the order in which they begin: they take longest.
const WAITING: [&str; 8] = [
    "oscost/commands",
    "oscost-servers/conformance",
    "oscost/with_programs",
    "oscost-concurrency/executors",
    "oscost-systems/launchers",
    "oscost-loadgen/load",
    "oscost-postgres/server",
    "oscost-mailsend/mailsend",
];
/// How many tests of such a program run at a time.
const WAITING_THREADS: usize = 8;
/// Programs that compute for long, which begin next.
const LONG: [&str; 5] = [
    "oscost-primitives/alone",
    "oscost-analysis/analysis",
    "oscost-measure/measure",
    "oscost-areas/tables",
    "oscost-runner/runner",
];
/// Programs that want the CPUs for themselves: they run after all others, one test at a time.
const ALONE: [&str; 1] = ["oscost/alone"];
/// After this time a program of tests is killed, and has failed.
const LIMIT: Duration = Duration::from_secs(20 * 60);
/// The folder of the programs' output, and the file that lists those that skipped a test, in the folder of what is built.
const LOGS: &str = "tests";
const SKIPPED: &str = "skipped";
/// Property tests get the same inputs each time, so that a failure is the change's. Another seed explores.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20261121");

/// A program of tests.
#[derive(Debug)]
struct Program {
    /// The name of the package and of the target: `oscost-report/report`.
    label: String,
    /// Whether it has the tests of a library, whose documentation may have some, too.
    is_library: bool,
    path: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

impl Program {
    /// Whether its tests wait for most of their time.
    fn waits(&self) -> bool {
        WAITING.contains(&self.label.as_str())
    }

    /// The place in the order of beginning.
    fn rank(&self) -> usize {
        let mut order = WAITING.iter().chain(&LONG);
        order.position(|label| *label == self.label).unwrap_or(WAITING.len() + LONG.len())
    }
}

/// What a program of tests did.
#[derive(Debug, Default)]
struct Done {
    passed: bool,
    /// The number of tests that passed, and that were left out by the program itself.
    tests: [u64; 2],
    /// Reasons why tests were skipped, in the program's words.
    skipped: Vec<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("run-tests: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<bool> {
    let began = Instant::now();
    let (own, of_cargo): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument == "--skipped");
    let of_cargo = if of_cargo.is_empty() { vec!["--workspace".to_owned()] } else { of_cargo };
    let (programs, logs) = build(&of_cargo)?;
    let list = logs.join(SKIPPED);
    let programs = if own.is_empty() { programs } else { those_that_skipped(programs, &list)? };
    println!("{:4.0} s  the tests are built", began.elapsed().as_secs_f64());
    let has_library = programs.iter().any(|program| program.is_library);
    let (alone, programs): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.label.as_str()));
    let mut all = run_side_by_side(programs, AT_ONCE, &logs)?;
    all.extend(run_side_by_side(alone, 1, &logs)?);
    let skipping = all.iter().filter(|(_, done)| !done.skipped.is_empty());
    let labels: Vec<&str> = skipping.map(|(label, _)| label.as_str()).collect();
    fs::write(list, labels.join("\n"))?;
    // Tests in documentation are compiled by rustdoc itself.
    let documented = own.is_empty() && has_library && {
        let mut command = Command::new(cargo());
        command.args(["test", "--quiet", "--doc"]).args(&of_cargo).stdin(Stdio::null());
        !command.status()?.success()
    };
    let failed: Vec<&str> =
        all.iter().filter(|(_, done)| !done.passed).map(|(label, _)| label.as_str()).collect();
    println!("{}", summary(&all));
    if documented {
        println!("FAILED: tests in documentation");
    }
    if !failed.is_empty() {
        println!("FAILED: {}; their output is in {}", failed.join(", "), logs.display());
    }
    Ok(failed.is_empty() && !documented)
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Builds the programs of tests; returns them and the folder for their output.
fn build(arguments: &[String]) -> io::Result<(Vec<Program>, PathBuf)> {
    let mut command = Command::new(cargo());
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(arguments);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().map(BufReader::new);
    let mut programs = Vec::new();
    for line in output.into_iter().flat_map(BufRead::lines) {
        // Rustc's own output may stand between the messages.
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        programs.extend(program(&message));
    }
    if !child.wait()?.success() {
        return Err(io::Error::other("the tests do not build"));
    }
    let Some(first) = programs.first() else { return Err(io::Error::other("there are no tests")) };
    // TARGET/PROFILE/deps/PROGRAM
    let target = first.path.ancestors().nth(3).unwrap_or(Path::new("target"));
    let logs = target.join(LOGS);
    fs::create_dir_all(&logs)?;
    programs.sort_by_key(Program::rank);
    Ok((programs, logs))
}

/// The program of tests that a message of cargo is about.
fn program(message: &Value) -> Option<Program> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let id = message["package_id"].as_str()?;
    // `path+file:///folder#name@version`
    let package = id.rsplit('#').next()?.split('@').next()?;
    let label = format!("{package}/{}", message["target"]["name"].as_str()?);
    let is_library = message["target"]["kind"][0] == "lib";
    Some(Program { label, is_library, path: path.into(), folder: folder.to_owned() })
}

fn those_that_skipped(programs: Vec<Program>, list: &Path) -> io::Result<Vec<Program>> {
    let labels = fs::read_to_string(list)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", list.display())))?;
    let labels: Vec<&str> = labels.lines().collect();
    Ok(programs.into_iter().filter(|it| labels.contains(&it.label.as_str())).collect())
}

/// Runs programs, so many at a time, and prints a line for each that ends.
fn run_side_by_side(
    programs: Vec<Program>,
    at_once: usize,
    logs: &Path,
) -> io::Result<Vec<(String, Done)>> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let ended = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let runs_some = || -> io::Result<()> {
        while let Some(program) = next() {
            let done = run_program(&program, at_once == 1, logs)?;
            ended.lock().unwrap_or_else(PoisonError::into_inner).push((program.label, done));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(runs_some)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(ended.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn run_program(program: &Program, is_alone: bool, logs: &Path) -> io::Result<Done> {
    let log = logs.join(format!("{}.log", program.label.replace('/', ".")));
    let output = File::create(&log)?;
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.env("CARGO", cargo());
    if std::env::var_os(SEED.0).is_none() {
        command.env(SEED.0, SEED.1);
    }
    if program.waits() {
        command.arg(format!("--test-threads={WAITING_THREADS}"));
    } else if is_alone {
        command.arg("--test-threads=1");
    }
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    take_requests(&mut command);
    let began = Instant::now();
    let (status, cpu) = wait(&mut command.spawn()?, LIMIT)?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let mut done = read_output(&text);
    done.passed = status.as_deref() == Ok("");
    if !done.passed {
        println!("{text}");
    }
    let outcome = status.unwrap_or_else(|limit| limit);
    let cpu = cpu.map_or(String::new(), |cpu| format!("{:5.0} s CPU", cpu.as_secs_f64()));
    println!(
        "{:4.0} s {cpu}  {}: {} passed{}{}",
        began.elapsed().as_secs_f64(),
        program.label,
        done.tests[0],
        if done.skipped.is_empty() {
            String::new()
        } else {
            format!(", {} of them skipped", done.skipped.len())
        },
        if outcome.is_empty() { outcome } else { format!(", FAILED: {outcome}") },
    );
    Ok(done)
}

/// Lets a program be interrupted although this one may have been started in the background of a shell, or by nohup(1), which makes
/// all that it starts ignore these signals.
#[cfg(unix)]
fn take_requests(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let reset = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            // SAFETY: signal(2) may be called between fork and exec, and the default action needs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: `reset` calls nothing but signal(2), and allocates nothing.
    unsafe { command.pre_exec(reset) };
}

/// Ctrl-C reaches all programs.
#[cfg(not(unix))]
fn take_requests(_command: &mut Command) {}

/// Waits for a child: an empty text if it succeeded, or how it ended; the error if it was killed at the limit. Its processor time
/// includes that of its own children.
#[cfg(unix)]
fn wait(
    child: &mut Child,
    limit: Duration,
) -> io::Result<(Result<String, String>, Option<Duration>)> {
    use std::os::unix::process::ExitStatusExt;
    let began = Instant::now();
    let mut is_killed = false;
    loop {
        let mut status = 0;
        // SAFETY: rusage has only numbers, for which zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the child was not waited for; both pointers are to values of this function.
        let ended =
            unsafe { libc::wait4(child.id() as i32, &mut status, libc::WNOHANG, &mut usage) };
        match ended {
            0 if began.elapsed() > limit && !is_killed => {
                child.kill()?;
                is_killed = true;
            }
            0 => std::thread::sleep(Duration::from_millis(20)),
            -1 => return Err(io::Error::last_os_error()),
            _ => {
                let of = |time: libc::timeval| {
                    Duration::from_secs(time.tv_sec as u64)
                        + Duration::from_micros(time.tv_usec as u64)
                };
                let cpu = Some(of(usage.ru_utime) + of(usage.ru_stime));
                let status = std::process::ExitStatus::from_raw(status);
                let outcome = match (is_killed, status.success()) {
                    (true, _) => Err(format!("not done within {} s", limit.as_secs())),
                    (false, true) => Ok(String::new()),
                    (false, false) => Ok(status.to_string()),
                };
                return Ok((outcome, cpu));
            }
        }
    }
}

/// Waits for a child, as on Unix, but without its processor time.
#[cfg(not(unix))]
fn wait(
    child: &mut Child,
    limit: Duration,
) -> io::Result<(Result<String, String>, Option<Duration>)> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            let outcome = if status.success() { String::new() } else { status.to_string() };
            return Ok((Ok(outcome), None));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok((Err(format!("not done within {} s", limit.as_secs())), None))
}

/// The counts and the reports of skipped tests in the output of a program.
fn read_output(text: &str) -> Done {
    let mut done = Done::default();
    for line in text.lines() {
        // The report may stand behind the harness's "test x ... " without a line's end.
        if let Some((_, why)) = line.split_once("skipped: ") {
            done.skipped.push(why.trim_end_matches(" ... ok").to_owned());
        }
        let Some((_, counts)) = line.split_once("test result: ") else { continue };
        for count in counts.split(['.', ';']) {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            match words.next() {
                Some("passed") => done.tests[0] += number,
                Some("ignored") => done.tests[1] += number,
                _ => {}
            }
        }
    }
    done
}

/// The script that lists the groups of programs that tests want.
const INSTALLER: &str = include_str!("../../../../scripts/install-test-needs");

/// The last lines: how many tests passed, and how many of them were skipped, by the first word of the reason, which is the group of
/// `scripts/install-test-needs` that installs what is missing.
fn summary(all: &[(String, Done)]) -> String {
    let passed: u64 = all.iter().map(|(_, done)| done.tests[0]).sum();
    let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
    for why in all.iter().flat_map(|(_, done)| &done.skipped) {
        let group = why.split_once(':').map_or("", |(group, _)| group.trim());
        let is_known = group == "root" || INSTALLER.contains(&format!("    [{group}]="));
        *groups.entry(if is_known { group } else { "" }).or_default() += 1;
    }
    let skipped: u64 = groups.values().sum();
    if skipped == 0 {
        return format!("{passed} tests passed, none of them was skipped");
    }
    let wants: Vec<String> = groups
        .iter()
        .map(|(group, count)| match *group {
            "root" => format!("{count} for want of root"),
            "" => format!("{count} for other reasons"),
            group => format!("{count} for want of {group}"),
        })
        .collect();
    let installed: Vec<&str> =
        groups.keys().copied().filter(|group| !["", "root"].contains(group)).collect();
    let remedy = match installed.is_empty() {
        true => String::new(),
        false => format!(" (on Debian: scripts/install-test-needs {})", installed.join(" ")),
    };
    format!("{passed} tests passed, {skipped} of them skipped: {}{remedy}", wants.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_skipped_tests_are_read() {
        let done = read_output(
            "running 3 tests\ntest a ... skipped: systems: needs bwrap\nok\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n",
        );
        assert_eq!((done.tests, done.skipped.len()), ([2, 1], 1));
        let all = [("oscost-x/y".to_owned(), done)];
        assert_eq!(
            summary(&all),
            "2 tests passed, 1 of them skipped: 1 for want of systems (on Debian: \
             scripts/install-test-needs systems)"
        );
        let other = read_output("skipped: namespaces: denied\nskipped: root: to mount\n");
        assert_eq!(
            summary(&[("oscost-x/z".to_owned(), other)]),
            "0 tests passed, 2 of them skipped: 1 for other reasons, 1 for want of root"
        );
        assert_eq!(summary(&[]), "0 tests passed, none of them was skipped");
    }

    #[test]
    fn only_programs_of_tests_are_run() {
        let message = serde_json::json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///oscost/crates/report#oscost-report@0.1.0",
            "manifest_path": "/oscost/crates/report/Cargo.toml",
            "target": { "name": "golden" },
            "profile": { "test": true },
            "executable": "/oscost/target/debug/deps/golden-1",
        });
        let found = program(&message).expect("a program");
        assert_eq!(found.label, "oscost-report/golden");
        assert_eq!(found.folder, Path::new("/oscost/crates/report"));
        let mut library = message;
        library["profile"]["test"] = false.into();
        assert!(program(&library).is_none());
    }
}
