//! Programs inherit signal settings, limits and denied calls from what starts them: each start ends with a figure or with a
//! sentence that names cause and remedy, within its time, and leaves nothing behind.
#![cfg(target_os = "linux")]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::linux::{before, closed, denied, signal_group, until, users_of, with_file_system};
use common::{Bench, Said, finish, said_by};

/// Commands that run for long, here for less than a second.
const LONG: &[&str] = &[
    "run clock/std-instant --quick --budget 300ms",
    "time --runs 2 -- sleep 0.2",
    "concurrency --jobs 3 --length 2ms..3ms --bound wait --budget 500ms",
];

/// What a start changes.
type Start = (&'static str, fn(&mut Command));

const STARTS: &[Start] = &[
    ("as usual", |_| ()),
    ("SIGHUP ignored", |command| ignoring(command, libc::SIGHUP)),
    ("SIGINT ignored", |command| ignoring(command, libc::SIGINT)),
    ("SIGTERM ignored", |command| ignoring(command, libc::SIGTERM)),
    ("SIGCHLD ignored", |command| ignoring(command, libc::SIGCHLD)),
    ("SIGPIPE at its default", |command| set(command, libc::SIGPIPE, libc::SIG_DFL)),
    ("SIGXFSZ ignored", |command| ignoring(command, libc::SIGXFSZ)),
    ("SIGALRM ignored", |command| ignoring(command, libc::SIGALRM)),
    ("all signals blocked", blocked),
    ("no standard input", |command| _ = closed(command, 0)),
    ("no standard error", |command| _ = closed(command, 2)),
    ("64 descriptors", |command| limited(command, libc::RLIMIT_NOFILE, 64)),
    ("16 descriptors", |command| limited(command, libc::RLIMIT_NOFILE, 16)),
    ("files of 1 MiB", |command| limited(command, libc::RLIMIT_FSIZE, 1 << 20)),
    ("files of 40 KiB", |command| limited(command, libc::RLIMIT_FSIZE, 40 << 10)),
    ("no locked memory", |command| limited(command, libc::RLIMIT_MEMLOCK, 0)),
    ("no pending signals", |command| limited(command, libc::RLIMIT_SIGPENDING, 0)),
    ("256 MiB of memory", |command| limited(command, libc::RLIMIT_AS, 256 << 20)),
    ("no core files", |command| limited(command, libc::RLIMIT_CORE, 0)),
    ("a small stack", |command| limited(command, libc::RLIMIT_STACK, 1 << 20)),
    ("clone3 denied", |command| _ = denied(command, &[libc::SYS_clone3])),
    ("pinning denied", |command| _ = denied(command, &[libc::SYS_sched_setaffinity])),
    ("perf denied", |command| _ = denied(command, &[libc::SYS_perf_event_open])),
    ("prctl denied", |command| _ = denied(command, &[libc::SYS_prctl])),
];

fn ignoring(command: &mut Command, signal: libc::c_int) {
    set(command, signal, libc::SIG_IGN);
}

fn set(command: &mut Command, signal: libc::c_int, action: libc::sighandler_t) {
    before(command, move || {
        // SAFETY: both are valid numbers.
        unsafe { libc::signal(signal, action) };
        Ok(())
    });
}

fn blocked(command: &mut Command) {
    before(command, || {
        // SAFETY: sigfillset initialises the set.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        }
        Ok(())
    });
}

fn limited(command: &mut Command, limit: libc::__rlimit_resource_t, most: u64) {
    before(command, move || {
        let limits = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limits are initialised.
        match unsafe { libc::setrlimit(limit, &limits) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    });
}

/// Ends with figures, or with a sentence; a panic, an abort or a signal is neither.
fn check(what: &str, said: &Said) {
    let code = said.code.unwrap_or_else(|| panic!("{what}: ended by a signal: {}", said.err));
    assert!(
        [0, 3].contains(&code) || code == 2 && !said.err.contains("Usage:"),
        "{what}: {code}\n{}\n{}",
        said.out,
        said.err
    );
    assert!(!said.err.contains("panicked"), "{what}: {}", said.err);
    let is_said = code == 0 || !said.err.trim().is_empty() || !said.out.trim().is_empty();
    assert!(is_said || what.contains("no standard error"), "{what}: not a word");
}

#[test]
fn each_odd_start_ends_with_a_figure_or_a_sentence() {
    // The programs mostly wait, and nobody reads their figures.
    for at_once in STARTS.chunks(4) {
        std::thread::scope(|scope| {
            for (name, change) in at_once {
                scope.spawn(move || start_all(name, *change));
            }
        });
    }
}

/// Starts all commands with this change at once.
fn start_all(name: &str, change: fn(&mut Command)) {
    // A busy machine takes longer, but not for ever.
    const WITHIN: Duration = Duration::from_secs(60);
    let began = Instant::now();
    let started = LONG.iter().map(|line| {
        let bench = Bench::new();
        let mut command = bench.command(line);
        change(&mut command);
        let child = command.spawn().expect("the program starts");
        (format!("{name}: {line}"), bench, child)
    });
    for (what, bench, child) in started.collect::<Vec<_>>() {
        let said = said_by(child);
        assert!(began.elapsed() < WITHIN, "{what}: took {:?}", began.elapsed());
        check(&what, &said);
        until(&format!("{what}: no process is left"), || users_of(&bench.temp()).is_empty());
    }
}

/// `nohup oscost run &`, and closing the terminal, ended the run.
#[test]
fn a_signal_that_was_ignored_at_the_start_ends_nothing() {
    use std::os::unix::process::CommandExt;
    for signal in [libc::SIGHUP, libc::SIGINT] {
        for line in LONG {
            let bench = Bench::new();
            let mut command = bench.command(line);
            ignoring(&mut command, signal);
            let run = command.process_group(0).spawn().expect("the program starts");
            until(&format!("{line} is under way"), || bench.store().exists());
            signal_group(run.id(), signal);
            let said = said_by(run);
            let is_done = said.code.is_some() && !said.err.contains("stopped");
            assert!(is_done, "{signal} {line}: {}", said.err);
        }
    }
}

#[test]
fn a_store_on_a_full_disk_can_be_read() {
    if !is_root() {
        return testing::skip("mounting needs root");
    }
    let bench = Bench::new();
    let folder = bench.path("small");
    std::fs::create_dir(&folder).expect("a folder");
    let oscost = env!("CARGO_BIN_EXE_oscost");
    let script = format!(
        "set -e; cd small; export OSCOST_STORE=$PWD/s.db; {oscost} time -r 1 -- true >/dev/null 2>&1
         dd if=/dev/zero of=fill bs=4k 2>/dev/null || true
         {oscost} runs; {oscost} show; {oscost} export last >/dev/null"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(bench.path("."));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let said = finish(with_file_system(&mut command, &folder, "size=1m")).with(0);
    assert!(said.out.contains("true"), "{}", said.out);
}

fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_dash_is_standard_output() {
    let bench = Bench::new();
    bench.oscost("time -r 3 -- true").with(0);
    let report = bench.oscost("report last -o -").with(0);
    assert!(
        report.out.starts_with("<!DOCTYPE html>"),
        "{}",
        &report.out[..80.min(report.out.len())]
    );
    let document = bench.oscost("export last --output -").with(0);
    assert!(document.out.contains("time/command"), "{}", document.out);
    assert!(!bench.path("-").exists(), "no file has that name");
}
