//! Several processes make and write the same store at the same time.

use std::path::Path;
use std::process::{Child, Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use results::{RoundRow, RunInfo, Store};

const STORE: &str = "store.sqlite";
const PROCESSES: usize = 4;
const ROUNDS: u64 = 20;

/// In the environment of a process that this test starts: the store and the id of its run.
const PART: [&str; 2] = ["OSCOST_TEST_STORE", "OSCOST_TEST_RUN"];

/// Each of the processes is this program again, with [`PART`] in its environment: hence not the usual test harness.
fn main() -> ExitCode {
    if let [Some(store), Some(id)] = PART.map(std::env::var_os) {
        one_process(Path::new(&store), id.to_str().expect("an id of ours"));
        return ExitCode::SUCCESS;
    }
    let share = || {
        processes_that_start_together_share_one_store();
        Ok(())
    };
    let trial = Trial::test("processes_that_start_together_share_one_store", share);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

/// Begins a run and adds its rounds.
fn one_process(path: &Path, id: &str) {
    let mut store = Store::open(path).expect("opens");
    let run = RunInfo {
        id: id.to_owned(),
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
        store.add_round(id, &row).expect("stored");
    }
}

fn processes_that_start_together_share_one_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("deep").join(STORE);
    let program = std::env::current_exe().expect("this test");
    let children: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            let [store, run] = PART;
            let mut process = Command::new(&program);
            process.env(store, &path).env(run, format!("run{number}"));
            process.spawn().expect("starts")
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
