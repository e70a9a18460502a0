//! Several processes make and write the same store at the same time.

use std::path::Path;
use std::process::{Child, Command};

use results::{RoundRow, RunInfo, Store};

const STORE: &str = "OSCOST_TEST_PROCESSES_STORE";
const RUN: &str = "OSCOST_TEST_PROCESSES_RUN";
const PROCESSES: usize = 4;
const ROUNDS: u64 = 20;

/// What each process does: nothing when run as an ordinary test, without the variables.
#[test]
fn one_process() {
    let (Some(path), Ok(id)) = (std::env::var_os(STORE), std::env::var(RUN)) else {
        return;
    };
    let mut store = Store::open(Path::new(&path)).expect("opens");
    let run = RunInfo {
        id: id.clone(),
        started: "2026-11-21T20:36:55Z".to_owned(),
        finished: None,
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: Default::default(),
        asked: Default::default(),
        core_clock_ghz: None,
        area_seconds: Default::default(),
    };
    store.begin_run(&run, &Default::default(), "{}").expect("begins");
    for seq in 0..ROUNDS {
        let row = RoundRow {
            seq,
            case: "lock/futex".to_owned(),
            params: Default::default(),
            kind: "round".to_owned(),
            outcome: "done".to_owned(),
            started_ms: 0,
            lines: "{}\n".to_owned(),
        };
        store.add_round(&id, &row).expect("stored");
    }
}

#[test]
fn processes_that_start_together_share_one_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("deep").join("store.sqlite");
    let program = std::env::current_exe().expect("this test");
    let children: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            Command::new(&program)
                .args(["--exact", "one_process"])
                .env(STORE, &path)
                .env(RUN, format!("run{number}"))
                .spawn()
                .expect("starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", output.status);
    }
    let store = Store::open_read_only(&path).expect("a store");
    let runs = store.runs().expect("runs");
    assert_eq!(runs.len(), PROCESSES);
    assert!(runs.iter().all(|run| run.rounds == ROUNDS));
}
