//! The area `file`: unusable directories, full disks and sync without effect; and no file is left after a kill at any moment.
//!
//! `OSCOST_KILLS=50 cargo test -p oscost --test commands files:: -- --nocapture` kills more often than a default test.

use std::fs::write;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::common::linux::{
    as_nobody, denied, nobody_is_left, nothing_is_left, pretended, set_mode, signal_group,
    started_apart, users_of, with_file_size, with_file_system,
};
use crate::common::{
    Bench, codes_of_doubts, entries, finish, kills, needs, run_on, said_by, skip_unless, started,
    times, until,
};
use serde_json::Value;

/// Command for a few points with short trials.
const FEW: &str = "run file/small file/layout --quick --param size=4k --param files=50";
/// Command for trials that are long enough to be killed halfway.
const MANY: &str =
    "run file/small file/layout file/sync --quick --param size=4k --param files=3000";

/// Command for large files instead of many.
const LARGE: &str = "run file/sequential-write file/copy file/random-read --quick --param size=64m";

#[track_caller]
fn is_empty(folder: &Path) {
    assert_eq!(entries(folder), Vec::<String>::new());
}

#[test]
fn requested_directories_are_measured_and_described() {
    let bench = Bench::new();
    let [one, two] = ["one", "two with spaces"].map(|name| bench.folder(name));
    let mut command = bench.command(&format!("{FEW} --dir one --json --dir"));
    let document = finish(command.arg(&two)).with(0).json();
    for result in times(&document) {
        assert_eq!(result["outcome"], "measured", "{result}");
        let calls = result["per_op"]["syscalls"].as_f64();
        assert!(calls.is_none_or(|calls| (8.5..12.0).contains(&calls)), "{result}");
    }
    for folder in [&one, &two] {
        let dir = folder.to_str().expect("a plain path");
        let of_it = times(&document).into_iter().filter(|r| r["params"]["dir"] == *dir).count();
        assert_eq!(of_it, 3);
        let fact = |name: &str| &document["machine"][format!("filesystem.{dir}.{name}")];
        assert!(fact("type").is_string() && fact("options").is_string(), "{}", document["machine"]);
        assert!(fact("free_bytes").as_f64().is_some_and(|bytes| bytes > 0.0));
        is_empty(folder);
    }
    is_empty(&bench.temp());
    bench.oscost("show").with(0).says(&["two with spaces: ", "free"]);
    // An exported run can be imported, including its file systems.
    bench.write("run.json", &serde_json::to_string(&document).expect("JSON"));
    bench.oscost("import run.json --store other.sqlite").with(0);
    let again = bench.oscost("export --store other.sqlite").with(0).json();
    assert_eq!(again["machine"], document["machine"]);
}

#[test]
fn directories_that_cannot_be_used() {
    let bench = Bench::new();
    write(bench.path("a-file"), "x").expect("a file");
    bench.refuses(&[
        ("run file --dir nosuch", &["nosuch", "No such file"]),
        ("run file --dir a-file", &["a-file", "not a directory"]),
        ("run clock --dir tmp", &["\"dir\"", "they have"]),
        ("run file --param dir=tmp", &["tmp", "not a full path"]),
        ("run file --param size=2048k", &["size", "at most 1m"]),
        ("run file --param size=x", &["size", "it is not a size"]),
        ("run file --param files=0", &["files", "at least 1"]),
        ("run --resume --dir tmp", &["--resume", "--dir"]),
    ]);
    is_empty(&bench.temp());
}

#[test]
fn unwritable_directories_are_reported_before_measuring() {
    skip_unless!(needs::root("to become a user without rights") && needs::mounts());
    let bench = Bench::new();
    bench.open_to_all();
    let folder = bench.folder("small");
    set_mode(&folder, 0o755);
    let run = format!("{FEW} --dir small");
    finish(as_nobody(&mut bench.command(&run))).with(3).complains(&["small", "Permission denied"]);
    let on = |options: &str, run: &str| {
        let mut command = bench.command(run);
        finish(with_file_system(&mut command, &folder, options))
    };
    on("ro", &run).with(3).complains(&["small", "Read-only file system"]);
    on("size=1m", &run).with(3).complains(&["small", "MiB are free"]);
    on("nr_inodes=200", &run).with(3).complains(&["small", "inodes", "are free"]);
    assert!(!bench.store().exists(), "no run was begun");
}

#[test]
fn a_disk_that_fills_up_meanwhile_fails_the_case_and_nothing_stays() {
    skip_unless!(needs::mounts());
    let bench = Bench::new();
    let folder = bench.folder("small");
    // The system reports enough space, but files may not grow: the error occurs during the trial. The store stays below the limit.
    let mut command = bench
        .command("run file/small --quick --param size=256k --param files=50 --dir small --json");
    let command = with_file_system(&mut command, &folder, "size=32m");
    let document = finish(with_file_size(command, 200 << 10)).ended().json();
    for result in times(&document) {
        assert_eq!(result["outcome"], "failed", "{result}");
        let reason = result["reason"].as_str().expect("a reason");
        assert!(reason.contains("creating a file") || reason.contains("signal"), "{reason}");
    }
    // The run has a separate store, which stays below the limit.
    let run = "run file/sequential-write file/copy --quick --param size=1m --dir small --json";
    let mut command = bench.command(&format!("{run} --store large.sqlite"));
    let command = with_file_system(&mut command, &folder, "size=32m");
    let document = finish(with_file_size(command, 700 << 10)).ended().json();
    for result in times(&document).into_iter().filter(|r| r["outcome"] != "unsupported") {
        let reason = result["reason"].as_str().unwrap_or_default();
        assert!(result["outcome"] == "failed" && reason.contains("too large"), "{result}");
    }
    // Another program fills the disk after the check for free space.
    let mut command = bench.command(
        "run file/small --quick --param size=4k --param files=4000 --dir small --budget 4s --json",
    );
    let command = with_file_system(&mut command, &folder, "size=40m");
    let hog = folder.clone();
    let begun = started(command.process_group(0));
    let mounts = format!("/proc/{}/root{}", begun.id(), hog.display());
    until("its file system is there", || {
        let message =
            std::fs::read_to_string(format!("/proc/{}/mounts", begun.id())).unwrap_or_default();
        message.contains("small") || !Path::new(&format!("/proc/{}", begun.id())).exists()
    });
    // The check for room is over when the first trial creates its files.
    let inside = Path::new(&mounts).to_owned();
    until("it creates files, or has ended", || {
        std::fs::read_dir(&inside)
            .map_or(true, |mut all| bench.store().exists() && all.next().is_some())
    });
    // Another process fills the free space, in its own mount namespace.
    let _ = write(format!("{mounts}/hog"), vec![1u8; 39 << 20]);
    let document = said_by(begun).ended().json();
    for result in times(&document) {
        let reason = result["reason"].as_str().unwrap_or_default();
        let known = reason.contains("are free") || reason.contains("No space left");
        assert!(result["outcome"] == "failed" && known, "{result}");
    }
    is_empty(&folder);
}

#[test]
fn sync_that_is_none_is_marked() {
    let bench = Bench::new();
    let run = "run file/sync --quick --param files=40 --json";
    let marked = |document: &Value, codes: &[&str]| {
        let synced = times(document).into_iter().filter(|r| r["params"]["sync"] != "none");
        synced.flat_map(codes_of_doubts).filter(|code| codes.contains(code)).count()
    };
    // These calls report success without effect.
    let mut command = bench.command(run);
    let document =
        finish(pretended(&mut command, &[libc::SYS_fsync, libc::SYS_fdatasync])).with(0).json();
    assert_eq!(marked(&document, &["sync-too-fast", "nothing-to-sync"]), 2, "{document}");
    if needs::shared_memory() {
        let document = bench.oscost(&format!("{run} --dir /dev/shm")).with(0).json();
        assert_eq!(marked(&document, &["nothing-to-sync"]), 2, "{document}");
    }
}

#[test]
fn unsupported_ways_are_reported_as_unsupported() {
    let bench = Bench::new();
    let run = "run file/create file/cold --quick --param files=40 --json";
    let mut command = bench.command(run);
    let calls = [libc::SYS_io_uring_setup, libc::SYS_mincore];
    let document = finish(denied(&mut command, &calls)).with(0).json();
    for result in times(&document) {
        let lacking = result["params"]["how"] == "io_uring" || result["case"] == "file/cold";
        let outcome = if lacking { "unsupported" } else { "measured" };
        // Some file systems lack O_TMPFILE as well.
        let allowed = result["params"]["how"] == "tmpfile+link";
        assert!(result["outcome"] == outcome || allowed, "{result}");
    }
    if needs::shared_memory() {
        let cold = bench.oscost("run file/cold --quick --param files=40 --dir /dev/shm --json");
        let document = cold.with(3).json();
        assert!(times(&document).iter().all(|r| r["outcome"] == "unsupported"), "{document}");
    }
    is_empty(&bench.temp());
}

/// Kills all processes at a random moment: the next start removes their files, also in a directory that it does not use again.
#[test]
fn after_a_kill_the_next_start_removes_everything() {
    let (wanted, mut left) = (kills(4), 0);
    for nth in 0..wanted {
        let bench = Bench::new();
        let folder = bench.folder("files");
        let what = if nth % 3 == 2 { LARGE } else { MANY };
        let mut run = started_apart(&mut bench.command(&format!("{what} --dir files --dir tmp")));
        run_on(2_600);
        // Kills the whole group, or the coordinator alone, whose worker then ends by itself.
        let workers: Vec<u32> = users_of(&bench.temp());
        if nth % 2 == 0 {
            for pid in workers {
                // SAFETY: takes numbers only; these processes were started with this bench's own folder.
                unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
            }
        }
        let _ = run.kill();
        said_by(run);
        nobody_is_left(&bench);
        left += usize::from(entries(&folder).len() + entries(&bench.temp()).len() > 0);
        let next = if nth % 4 < 2 { "--dir files --dir tmp" } else { "" };
        bench.oscost(&format!("{FEW} {next} --budget 300ms")).ended();
        is_empty(&folder);
        nothing_is_left(&bench);
    }
    println!("{wanted} times killed, {left} times something was left for the next start");
}

#[test]
fn told_to_stop_it_removes_everything_at_once() {
    for _ in 0..kills(3).min(10) {
        let bench = Bench::new();
        let folder = bench.folder("files");
        let run = started_apart(&mut bench.command(&format!("{MANY} --dir files")));
        until("files are there", || !entries(&folder).is_empty());
        run_on(300);
        signal_group(run.id(), libc::SIGINT);
        said_by(run).with(3);
        is_empty(&folder);
        nobody_is_left(&bench);
    }
}
