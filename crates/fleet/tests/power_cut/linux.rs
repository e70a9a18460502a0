//! The tests on Linux.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;

use fleet::{Binary, Effort, FleetError, Job, Request, Row, State, TransportKind, nodes_of};
use results::Store;
use serde_json::json;
use testing::power_cut::{Disk, Event, Unsynced, record};

const JOB: &str = "20261127-203501-1a2b";
const NODES: usize = 20;
/// Directories of a test: both are on the disk whose power is cut.
const JOBS: &str = "jobs";
const STORE: &str = "store";
/// Begins a line of the coordinator that tells of a node that is done.
const DONE: &str = "done ";
/// Number of cuts for each one after which the job is also completed.
const CUTS_PER_RESUME: usize = 40;

/// Stands for ssh: each node answers with its document.
const SSH: &str = r#"#!/bin/sh
case " $* " in *" -G "*) echo "connecttimeout 5"; echo "serveraliveinterval 5"; exit 0;; esac
for a; do if [ "$before" = -- ]; then n=$a; fi; before=$a; done
read -r order
cat "$(dirname "$0")/answer.$n"
"#;

/// Runs the tests; or, with an argument, a coordinator in that directory.
pub fn main() -> ExitCode {
    let root = std::env::args().nth(1).filter(|argument| argument.starts_with('/'));
    let Some(root) = root else {
        return testing::alone(testing::tests![
            a_power_cut_loses_no_run_of_a_node_that_is_done,
            a_file_system_without_locks_is_said_at_once,
        ]);
    };
    match coordinate(Path::new(&root)) {
        Ok(rows) => {
            assert!(rows.iter().all(|row| row.state == State::Done), "{rows:?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn names() -> Vec<String> {
    (0..NODES).map(|index| format!("n{index}")).collect()
}

fn coordinate(root: &Path) -> Result<Vec<Row>, FleetError> {
    let request = Request {
        id: JOB.to_owned(),
        transport: TransportKind::Ssh { command: vec![root.join("ssh").display().to_string()] },
        nodes: nodes_of(&names()).expect("names"),
        arguments: vec!["clock".to_owned()],
        binary: Binary::of(&std::env::current_exe().expect("this program")).expect("a program"),
        effort: Effort { at_once: 3, retries: 0, ..Effort::default() },
    };
    let job = Job::create(&root.join(JOBS), request)?;
    run(job, &root.join(STORE), &mut |row| println!("{DONE}{}", row.node))
}

/// Runs a job as `oscost fleet run` does.
fn run(mut job: Job, store: &Path, told: &mut dyn FnMut(&Row)) -> Result<Vec<Row>, FleetError> {
    let mut store = Store::open(&store.join("store.sqlite")).expect("a store");
    let mut keep = |document: &results::Document| {
        store.import(document).map(|_| ()).map_err(|error| error.to_string())
    };
    job.run(&AtomicBool::new(false), &mut keep, told)
}

/// Writes what nodes answer, and the stand-in for ssh.
fn prepare(root: &Path) {
    for name in names() {
        let results: Vec<_> = (0..20)
            .map(|n| json!({ "case": format!("area/case-{n}"), "params": {}, "metric": "time", "unit": "ns", "better": "lower", "outcome": "failed", "reason": "for a test" }))
            .collect();
        let document = json!({
            "schema": 1, "machine": { "kernel": "x" }, "results": results,
            "run": {
                "id": format!("run-{name}"), "started": "2026-11-27T20:35:01Z",
                "finished": "2026-11-27T20:36:01Z", "seed": 1, "oscost": "0.1.0",
                "tags": { "fleet": JOB, "node": name }, "area_seconds": {},
            },
        })
        .to_string();
        results::parse_document(&document).expect("a document");
        let part = json!({ "oscost-fleet": "part", "text": document });
        let last = json!({ "oscost-fleet": "document", "bytes": document.len() });
        fs::write(root.join(format!("answer.{name}")), format!("{part}\n{last}\n"))
            .expect("a file");
    }
    fs::write(root.join("ssh"), SSH).expect("a file");
    fs::set_permissions(root.join("ssh"), fs::Permissions::from_mode(0o755)).expect("our file");
    fs::create_dir(root.join(JOBS)).expect("a directory");
    fs::create_dir(root.join(STORE)).expect("a directory");
}

/// This program as a coordinator.
fn coordinator(root: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(root);
    command
}

fn a_power_cut_loses_no_run_of_a_node_that_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there");
    prepare(&root);
    let Some(events) = record(&coordinator(&root)) else { return };
    // Memory is as good as a disk, whose power is not cut here.
    let in_memory = Path::new("/dev/shm");
    let place = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
    let (mut disk, mut done, mut cuts) = (Disk::default(), BTreeSet::new(), 0);
    for (event, number) in events.iter().zip(0..) {
        disk.happen(event);
        if let Event::Said(text) = event {
            done.extend(text.lines().filter_map(|line| line.strip_prefix(DONE)).map(str::to_owned));
            continue;
        }
        for unsynced in [Unsynced::Lost, Unsynced::Random(number)] {
            let laid = tempfile::tempdir_in(&place).expect("a folder");
            for name in [JOBS, STORE] {
                disk.lay(&root.join(name), &laid.path().join(name), unsynced);
            }
            let is_resumed = cuts % CUTS_PER_RESUME == 0;
            let checked = catch_unwind(AssertUnwindSafe(|| check(laid.path(), &done, is_resumed)));
            if checked.is_err() {
                let kept = laid.keep();
                panic!("cut {number}, {unsynced:?}, done {done:?}: see {}", kept.display());
            }
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
    assert!(done.len() == NODES && cuts >= 1_000, "{done:?}, {cuts} cuts");
}

/// Checks what a cut has left; `done` are the nodes that were called so.
fn check(laid: &Path, done: &BTreeSet<String>, is_resumed: bool) {
    let directory = laid.join(JOBS).join(JOB);
    let job = match Job::open(&directory) {
        Ok(job) => job,
        // The job has not begun anything.
        Err(_) if done.is_empty() => return,
        Err(error) => panic!("{error}"),
    };
    let rows = job.rows().expect("a journal");
    let is_done = |row: &&Row| row.state == State::Done;
    let called: BTreeSet<String> =
        rows.iter().filter(is_done).map(|row| row.node.clone()).collect();
    assert!(called.is_superset(done), "{called:?}");
    let has = |node: &String| {
        let store = Store::open(&laid.join(STORE).join("store.sqlite")).expect("a store");
        let document = store.document(&format!("run-{node}")).expect("it was stored");
        assert_eq!((&document.run.tags["node"], document.results.len()), (node, 20));
    };
    called.iter().for_each(has);
    // A document that was collected is whole.
    for row in rows.iter().filter(|row| row.state == State::Collected) {
        let path = directory.join("documents").join(format!("{}.json", row.node));
        results::parse_document(&fs::read_to_string(path).expect("a file")).expect("whole");
    }
    if is_resumed {
        let rows = run(job, &laid.join(STORE), &mut |_| {}).expect("it goes on");
        assert!(rows.iter().all(|row| row.state == State::Done), "{rows:?}");
        let again: BTreeSet<String> =
            rows.iter().filter(|row| row.attempts > 1).map(|row| row.node.clone()).collect();
        assert!(again.is_disjoint(&called), "{again:?}");
        names().iter().for_each(has);
    }
}

/// A lock that cannot be had is not taken for one that another process has.
fn a_file_system_without_locks_is_said_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path());
    let program = coordinator(folder.path());
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"]);
    command.arg(program.get_program()).args(program.get_args());
    let said = match command.output() {
        Ok(output) => String::from_utf8(output.stderr).expect("text"),
        Err(_) => return testing::skip("systems: strace is not installed"),
    };
    let expected = ["/lock: flock: No locks available", "XDG_DATA_HOME can name"];
    assert!(expected.iter().all(|text| said.contains(text)), "{said}");
    assert!(!said.contains("another process"), "{said}");
}
