//! Several processes make and write the same store at the same time.

use std::path::Path;
use std::process::{Child, Command};

use results::{RoundRow, RunInfo, Store};

const STORE: &str = "store.sqlite";
const PROCESSES: usize = 4;
const ROUNDS: u64 = 20;

/// Each of the processes is this program again, with the store and the id of its run as arguments. Hence no test harness.
fn main() {
    const TEST: &str = "processes_that_start_together_share_one_store";
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let arguments: Vec<String> = arguments.collect();
    match &arguments[..] {
        [store, id] if store.ends_with(STORE) => one_process(Path::new(store), id),
        wanted if wanted.iter().all(|word| TEST.contains(word.as_str())) => {
            processes_that_start_together_share_one_store();
            println!("test {TEST} ... ok");
        }
        _ => {}
    }
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
            Command::new(&program).arg(&path).arg(format!("run{number}")).spawn().expect("starts")
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
