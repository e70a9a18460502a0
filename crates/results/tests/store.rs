//! The store in an SQLite file: what every store does, several processes that create and write the same one, killed writers.

mod battery;
#[cfg(target_os = "linux")]
mod power_cut;

use std::path::Path;
use std::process::{Child, Command, ExitCode};

use results::{CaseResult, Direction, Outcome, RoundRow, Store};

const STORE: &str = "store.sqlite";
const PROCESSES: usize = 4;
const ROUNDS: u64 = 20;
/// The id of a run whose process writes until it is killed.
const ENDLESS: &str = "endless";

/// Environment variables of a process that this test starts: the store and the id of its run.
const PART: [&str; 2] = ["OSCOST_TEST_STORE", "OSCOST_TEST_RUN"];

/// Runs the tests, or one process: each is this program again with [`PART`] in its environment, which the usual test
/// harness cannot do.
fn main() -> ExitCode {
    if let [Some(store), Some(id)] = PART.map(std::env::var_os) {
        part_of(Path::new(&store), id.to_str().expect("an id of ours"));
        return ExitCode::SUCCESS;
    }
    let of_processes = testing::tests![
        processes_that_start_together_share_one_store,
        a_killed_writer_leaves_a_store_with_all_rounds,
        #[cfg(target_os = "linux")]
        power_cut::a_power_cut_loses_nothing_that_a_store_has_acknowledged,
        #[cfg(target_os = "linux")]
        power_cut::a_power_cut_loses_nothing_that_a_journal_has_acknowledged,
    ];
    let in_a_file = battery::TESTS.map(|(name, test)| {
        testing::test(name, move || {
            let folder = tempfile::tempdir().expect("a temporary folder");
            test(Store::open(&folder.path().join(STORE)).expect("a new store"));
        })
    });
    testing::alone(of_processes.into_iter().chain(in_a_file))
}

/// What a process that this test has started does.
fn part_of(path: &Path, id: &str) {
    #[cfg(target_os = "linux")]
    if [power_cut::IN_A_FILE, power_cut::IN_JOURNALS].contains(&id) {
        return power_cut::work(path, id);
    }
    one_process(path, id);
}

/// Begins a run and adds its rounds.
fn one_process(path: &Path, id: &str) {
    let mut store = Store::open(path).expect("opens");
    let run = battery::run(id, "2026-11-21T20:36:55Z");
    store.begin_run(&run, &Default::default(), "{}").expect("begins");
    for seq in 0..if id == ENDLESS { u64::MAX } else { ROUNDS } {
        store.add_round(id, &round(seq)).expect("stored");
        if id == ENDLESS {
            store.put_results(id, &results(seq)).expect("stored");
        }
    }
}

/// A round whose output begins uniquely and is longer than a page.
fn round(seq: u64) -> RoundRow {
    RoundRow {
        case: format!("lock/futex-{seq}"),
        lines: (0..3_000).map(|n| format!("{}\n", seq * n)).collect(),
        ..battery::round(seq)
    }
}

fn results(seq: u64) -> Vec<CaseResult> {
    let case = |n: u64| format!("lock/futex-{seq}-{n}");
    let result = |n| CaseResult {
        outcome: Outcome::Failed,
        reason: Some(format!("{}", seq * n)),
        ..CaseResult::blank(&case(n), Default::default(), "time", "ns/op", Direction::Lower)
    };
    (0..100).map(result).collect()
}

fn started(path: &Path, run: &str) -> Child {
    let program = std::env::current_exe().expect("this test");
    let [store, id] = PART;
    Command::new(program).env(store, path).env(id, run).spawn().expect("starts")
}

fn processes_that_start_together_share_one_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("deep").join(STORE);
    let children: Vec<Child> =
        (0..PROCESSES).map(|number| started(&path, &format!("run{number}"))).collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", output.status);
    }
    let store = Store::open_read_only(&path).expect("a store");
    let runs = store.runs().expect("runs");
    assert_eq!(runs.len(), PROCESSES);
    assert!(runs.iter().all(|run| run.rounds == ROUNDS));
}

fn a_killed_writer_leaves_a_store_with_all_rounds() {
    for seen in [0, 1, 3, 10, 30] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(STORE);
        let mut writer = started(&path, ENDLESS);
        let rounds = || {
            let store = Store::open_read_only(&path).ok()?;
            store.runs().expect("runs").first().map(|run| run.rounds)
        };
        testing::until(|| {
            assert_eq!(writer.try_wait().expect("its state"), None, "it writes until it is killed");
            rounds().is_some_and(|rounds| rounds >= seen)
        });
        writer.kill().expect("killed");
        writer.wait().expect("ended");

        let mut store = Store::open(&path).expect("opens");
        let stored = store.rounds(ENDLESS).expect("rounds");
        assert!(stored.len() as u64 >= seen, "{} of {seen} rounds", stored.len());
        assert!(stored.iter().zip(0..).all(|(found, seq)| *found == round(seq)));
        let next = stored.len() as u64;
        let found = store.document(ENDLESS).expect("whole").results;
        let put = [next.checked_sub(1), next.checked_sub(2)].map(|seq| seq.map(results));
        assert!(put.contains(&Some(found.clone())) || found.is_empty() && next <= 1);
        store.add_round(ENDLESS, &round(next)).expect("the run goes on");
        assert_eq!(store.runs().expect("runs")[0].rounds, next + 1);
    }
}
