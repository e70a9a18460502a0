//! Environments in which something is missing, full or forbidden: a clear message and the right exit code, never a panic or a
//! hang.

use std::ffi::CString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::common::linux::{
    as_nobody, closed, on_one_cpu, set_mode, signal, with_descriptors, with_file_system,
};
use crate::common::{Bench, finish, needs, said_by, short, skip_unless, started, times, until};

const RUN: &str = "run clock/std-instant --quick --budget 1s";

fn full() -> File {
    File::options().write(true).open("/dev/full").expect("/dev/full")
}

#[test]
fn a_closed_stdout_is_no_error() {
    let bench = Bench::new();
    for arguments in [RUN, "list", "show", "runs", "env", "export", "completions bash", "--help"] {
        let mut child = started(&mut bench.command(arguments));
        drop(child.stdout.take());
        let said = said_by(child).with(0);
        // A run is saved even if its output is not read.
        assert_eq!(said.err.contains("saved as run"), arguments == RUN, "{}", said.err);
    }
    // The exit code reports the result even if the output is not read.
    let mut run = started(&mut bench.command("run lock/critical-section"));
    drop(run.stdout.take());
    said_by(run).with(3);
}

#[test]
fn there_is_no_stdout_or_stderr() {
    let bench = Bench::new();
    for stream in [0, 1, 2] {
        for (arguments, code) in [(RUN, 0), ("list", 0), ("run nosuch", 2)] {
            finish(closed(&mut bench.command(arguments), stream)).with(code);
        }
    }
    let runs = bench.oscost("runs --json").with(0).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(3));
}

#[test]
fn stdout_and_stderr_are_full() {
    let bench = Bench::new();
    for arguments in ["list", "env", "completions zsh"] {
        let said = finish(bench.command(arguments).stdout(full())).with(3);
        said.complains(&["cannot write to standard output", "No space left"]);
    }
    let run = finish(bench.command(RUN).stdout(full())).with(3);
    bench.oscost(&format!("show {}", run.saved())).with(0);
    for (arguments, code) in [(RUN, 0), ("run nosuch", 2), ("run --quikc", 2)] {
        finish(bench.command(arguments).stderr(full())).with(code);
    }
}

#[test]
fn the_store_is_not_ours() {
    skip_unless!(needs::root("to become a user without rights"));
    let bench = Bench::new();
    bench.open_to_all();
    bench.oscost(RUN).with(0);
    set_mode(&bench.store(), 0o600);
    for arguments in ["show", "runs", "export", RUN, "run --resume", "compare last last"] {
        let said = finish(as_nobody(&mut bench.command(arguments))).with(2);
        said.complains(&["permission denied", "OSCOST_STORE"]);
    }
    // A readable store in a read-only folder can be read.
    set_mode(&bench.store(), 0o644);
    set_mode(&bench.path("."), 0o755);
    assert!(finish(as_nobody(&mut bench.command("show"))).with(0).out.contains("std-instant"));
    finish(as_nobody(&mut bench.command(RUN))).with(2).complains(&["store.sqlite"]);
    let elsewhere = format!("{RUN} --store new/store");
    finish(as_nobody(&mut bench.command(&elsewhere))).with(2).complains(&["permission denied"]);
}

#[test]
fn the_disk_is_full() {
    skip_unless!(needs::mounts());
    let bench = Bench::new();
    let folder = bench.folder("small");
    // The disk is full at once, when the run begins, or while rounds come in.
    for size in ["8k", "64k", "120k", "200k"] {
        let run = "run clock --quick --budget 20s --store small/store";
        let mut command = bench.command(run);
        let said = finish(with_file_system(&mut command, &folder, &format!("size={size}")));
        assert!(matches!(said.code, Some(2 | 3)), "{size}: {said:?}");
        let last = said.err.lines().last().unwrap_or_default();
        assert!(last.starts_with("oscost: ") && last.contains("disk is full"), "{size}: {said:?}");
    }
}

#[test]
fn there_is_no_proc() {
    skip_unless!(needs::mounts());
    let bench = Bench::new();
    let hidden = |arguments: &str| {
        let mut command = bench.command(arguments);
        finish(with_file_system(&mut command, Path::new("/proc"), "size=4k"))
    };
    for arguments in [RUN, "run lock/futex --quick --budget 2s", "list", "env", "show"] {
        hidden(arguments).with(0);
    }
    // Some operations use this program's own file, which is found by /proc.
    let document = hidden(&short("syscall/fstat syscall/getppid")).with(3).json();
    let [fstat, getppid] = times(&document)[..] else { panic!("{document}") };
    let (fstat, getppid) = match fstat["case"] == "syscall/fstat" {
        true => (fstat, getppid),
        false => (getppid, fstat),
    };
    assert!(fstat["reason"].as_str().is_some_and(|r| r.contains("/proc")), "{fstat}");
    assert_eq!(getppid["outcome"], "measured", "{getppid}");
}

/// A root directory without `/dev`, as after a plain chroot, was reported as if a program were missing.
#[test]
fn there_is_no_null_device() {
    skip_unless!(needs::mounts());
    let bench = Bench::new();
    let concurrency = "concurrency --jobs 2 --length 1ms --bound wait --budget 1s";
    for arguments in [RUN, concurrency, "time -r 1 -- true"] {
        let mut command = bench.command(arguments);
        let said = finish(with_file_system(&mut command, Path::new("/dev"), "size=4k")).with(3);
        let words = ["/dev/null: No such file", "mknod -m 666 /dev/null c 1 3"];
        assert!(words.iter().all(|word| said.err.contains(word)), "{arguments}: {}", said.err);
    }
}

/// Opening a FIFO waits for its other end. A request to stop was noted meanwhile, and nothing looked at it.
#[test]
fn a_fifo_whose_other_end_nobody_opens() {
    let bench = Bench::new();
    let fifo =
        CString::new(bench.path("fifo.json").to_str().expect("a plain path")).expect("no NUL");
    // SAFETY: the path ends with NUL.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    bench.oscost("run --op fifo.json").with(2).complains(&["fifo", "it is not a file"]);
    bench.oscost(RUN).with(0);
    let run_to = |option: &str| format!("{RUN} {option} fifo.json");
    for (arguments, printed) in [
        ("run clock --systems fifo.json --on x".to_owned(), None),
        ("check fifo.json".to_owned(), None),
        ("study fifo.json".to_owned(), None),
        ("import fifo.json".to_owned(), None),
        ("compare fifo.json last".to_owned(), None),
        ("concurrency --from fifo.json".to_owned(), None),
        (run_to("--csv"), Some("core clock")),
        (run_to("--xlsx"), Some("core clock")),
        ("report last -o fifo.json".to_owned(), None),
    ] {
        let mut child = started(&mut bench.command(&arguments));
        if let Some(text) = printed {
            let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            assert!(out.any(|line| line.is_ok_and(|line| line.starts_with(text))), "{arguments}");
        }
        until(&format!("{arguments} waits for the FIFO"), || is_opening_a_fifo(child.id()));
        signal(&child, libc::SIGTERM);
        assert_eq!(said_by(child).code, None, "{arguments}: the signal ends it");
    }
}

/// Whether the main thread waits for the other end of a FIFO: the kernel's function, or where that is hidden, any sleep.
fn is_opening_a_fifo(pid: u32) -> bool {
    let wait = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    match wait.as_str() {
        "" | "0" => {
            let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_openat))
        }
        wait => wait.contains("fifo") || wait.contains("wait_for_partner"),
    }
}

#[test]
fn there_is_one_cpu() {
    let bench = Bench::new();
    let run =
        short("lock/futex lock/sysv-sem syscall/getppid --param work=none --param workers=1,2");
    let document = finish(on_one_cpu(&mut bench.command(&run))).with(0).json();
    for result in times(&document) {
        assert_eq!(result["outcome"], "measured", "{result}");
        let spread = result["params"]["place"] == "spread";
        assert!(!spread, "nothing is spread over one CPU: {result}");
    }
    let spread = "run lock/futex --param place=spread";
    let said = finish(on_one_cpu(&mut bench.command(spread))).with(2);
    said.complains(&["spread", "only one CPU"]);
}

#[test]
fn there_are_few_descriptors() {
    let bench = Bench::new();
    let run = short("syscall/poll syscall/getppid");
    let document = finish(with_descriptors(&mut bench.command(&run), 64)).with(0).json();
    for result in times(&document) {
        match result["params"]["fds"].as_str() {
            Some("100" | "500") => {
                assert_eq!(result["outcome"], "unsupported", "{result}");
                let reason = result["reason"].as_str().expect("a reason");
                assert!(reason.contains("descriptors") && reason.contains("64"), "{reason}");
            }
            _ => assert_eq!(result["outcome"], "measured", "{result}"),
        }
    }
    // These are too few descriptors to begin with.
    for few in [4, 6, 10] {
        let said = finish(with_descriptors(&mut bench.command(RUN), few));
        assert!(matches!(said.code, Some(0 | 2 | 3)), "{few}: {said:?}");
    }
}

#[test]
fn there_is_no_room_for_temporary_files() {
    let bench = Bench::new();
    let run = short("clock/std-instant lock/flock syscall/pread-4k");
    let said = finish(bench.command(&run).env("TMPDIR", bench.path("nowhere")));
    let document = said.with(3).json();
    for result in times(&document) {
        let is_named = result["reason"].as_str().is_some_and(|why| why.contains("nowhere"));
        assert!(result["outcome"] == "measured" || is_named, "{result}");
    }
}

#[test]
fn stdin_is_not_a_document() {
    let bench = Bench::new();
    let said = finish(bench.command("import -").stdin(Stdio::null())).with(2);
    said.complains(&["-: line 1"]);
    let zeros = File::open("/dev/zero").expect("/dev/zero");
    finish(bench.command("import -").stdin(zeros)).with(2).complains(&["-: line 1"]);
    finish(bench.command("import -").stdin(File::open("/").expect("/"))).with(2);
}
