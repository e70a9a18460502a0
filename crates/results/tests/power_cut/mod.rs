//! Power cuts while runs are stored, in a file or by a journal: whatever the cut leaves is a store, and what was acknowledged is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use results::store::Sending;
use results::{Document, Imported, RoundRow, Store};
use testing::power_cut::{Disk, Event, Unsynced, record};

use crate::battery::{self, measured};
use crate::{PART, STORE};

/// The ids of runs of the processes that are traced.
pub const IN_A_FILE: &str = "in-a-file";
pub const IN_JOURNALS: &str = "in-journals";

const NIGHT: &str = "2026-11-21T20:36:55Z";
const ROUNDS: u64 = 6;
/// Where the shared store is: another machine, whose power is not cut.
const SERVER: &str = "server";
const LOCAL: &str = "local";

/// A round whose output is not compressed to little, so that some runs fill the log.
fn round(seq: u64) -> RoundRow {
    let noise =
        (0..300).map(|n: u64| format!("{:x}", (n + 1).wrapping_mul(seq ^ 0x9e37_79b9_7f4a_7c15)));
    RoundRow { lines: noise.collect(), ..battery::round(seq) }
}

fn document(id: &str) -> Document {
    let run = battery::run(id, NIGHT);
    Document {
        schema: results::SCHEMA,
        run: results::RunInfo { finished: Some(NIGHT.to_owned()), ..run },
        machine: battery::machine(),
        results: (0..5).map(|n| measured(&format!("{id}/case-{n}"), 20.0)).collect(),
    }
}

fn measure(store: &mut Store, id: &str) {
    store.begin_run(&battery::run(id, NIGHT), &battery::machine(), "{}").expect("begins");
    (0..ROUNDS).for_each(|seq| store.add_round(id, &round(seq)).expect("stored"));
    store.put_results(id, &document(id).results).expect("stored");
    store.finish_run(id, NIGHT).expect("stored");
}

/// What the traced process does; it prints what it has acknowledged.
pub fn work(root: &Path, id: &str) {
    match id {
        IN_A_FILE => work_in_a_file(&root.join(LOCAL).join("deep").join(STORE)),
        _ => work_in_journals(root),
    }
}

fn work_in_a_file(path: &Path) {
    for opening in 0..3 {
        let mut store = Store::open(path).expect("opens");
        for nth in 0..2 {
            let [run, imported] = ["run", "imported"].map(|kind| format!("{kind}-{opening}-{nth}"));
            measure(&mut store, &run);
            println!("has {run}");
            assert_eq!(store.import(&document(&imported)).expect("imported"), Imported::Added);
            println!("has {imported}");
        }
        // What is deleted, and whose rounds are removed, stays so.
        println!("deletes run-{opening}-0");
        store.delete_run(&format!("run-{opening}-0")).expect("deleted");
        println!("has-not run-{opening}-0");
    }
    println!("thins");
    Store::open(path).expect("opens").thin(i64::MAX).expect("thinned");
    println!("thinned");
}

/// Nothing is sent between rounds: what is sent when is of no matter here.
const SENDING: Sending = Sending {
    every: Duration::from_secs(3600),
    patience: Duration::from_secs(1),
    pause: Duration::ZERO,
    patience_at_end: Duration::ZERO,
};

fn with_journals(root: &Path) -> Store {
    let store = Store::open(&root.join(SERVER).join(STORE)).expect("opens");
    store.with_journals(root.join(LOCAL).join("journals"), SENDING)
}

fn work_in_journals(root: &Path) {
    for opening in 0..3 {
        let mut store = with_journals(root);
        for nth in 0..3 {
            let id = format!("run-{opening}-{nth}");
            measure(&mut store, &id);
            println!("has {id}");
            // The last one stays in its journal, as if the server were gone.
            if nth < 2 {
                store.deliver(&id).expect("sent");
                println!("has {id}");
            }
        }
        println!("deletes run-{opening}-2");
        store.delete_run(&format!("run-{opening}-2")).expect("deleted");
        println!("has-not run-{opening}-2");
    }
}

/// What a process has said until a moment.
#[derive(Default)]
struct Said {
    has: BTreeSet<String>,
    has_not: BTreeSet<String>,
    /// What is under way, and may be there or not.
    perhaps: BTreeSet<String>,
    is_thinned: bool,
}

impl Said {
    fn take(&mut self, text: &str) {
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("has", id)) => drop(self.has.insert(id.to_owned())),
                Some(("deletes", id)) => {
                    self.has.remove(id);
                    self.perhaps.insert(id.to_owned());
                }
                Some(("has-not", id)) => {
                    self.perhaps.remove(id);
                    self.has_not.insert(id.to_owned());
                }
                _ => self.is_thinned |= line.starts_with("thin"),
            }
        }
    }

    fn check(&self, store: &Store) {
        for id in &self.has {
            let found = store.document(id).expect("acknowledged");
            assert_eq!((&found.run, &found.results), (&document(id).run, &document(id).results));
            if id.starts_with("run") {
                let rounds = store.rounds(id).expect("readable");
                let is_whole = rounds.iter().zip(0..).all(|(found, seq)| *found == round(seq));
                assert!(is_whole && (rounds.len() as u64 == ROUNDS || self.is_thinned), "{id}");
            }
        }
        for id in &self.has_not {
            store.document(id).expect_err("deleted");
        }
    }
}

/// How many cuts are tried of each process, at least.
const CUTS: usize = 500;

/// Records the work of a process, and checks what cuts may leave, at moments that are spread over its writes. Returns the number of
/// cuts.
fn cut_at_many_moments(id: &str, check: impl Fn(&Path, &Said)) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    for name in [LOCAL, SERVER] {
        std::fs::create_dir(root.join(name)).expect("a folder");
    }
    let [store, run] = PART;
    let mut traced = Command::new(std::env::current_exe().expect("this test"));
    traced.env(store, &root).env(run, id);
    let Some(events) = record(&traced) else { return 0 };
    // Memory is as good as a disk, whose power is not cut here.
    let in_memory = Path::new("/dev/shm");
    let place = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
    let (mut disk, mut said, mut cuts) = (Disk::default(), Said::default(), 0);
    let every = (2 * events.len() / CUTS).max(1);
    for (event, number) in events.iter().zip(0..) {
        disk.happen(event);
        if let Event::Said(text) = event {
            said.take(text);
        }
        // What was said a moment ago is what a cut endangers.
        let is_due = (number as usize).is_multiple_of(every) || matches!(event, Event::Said(_));
        if !is_due {
            continue;
        }
        for unsynced in [Unsynced::Lost, Unsynced::Random(number)] {
            let laid = tempfile::tempdir_in(&place).expect("a folder");
            disk.lay(&root.join(LOCAL), &laid.path().join(LOCAL), unsynced);
            disk.lay(&root.join(SERVER), &laid.path().join(SERVER), Unsynced::Kept);
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                check(laid.path(), &said);
            }));
            if checked.is_err() {
                let kept: PathBuf = laid.keep();
                panic!("cut {number}, {unsynced:?}: see {}", kept.display());
            }
            cuts += 1;
        }
    }
    assert!(said.has.len() >= 3, "it was at work");
    cuts
}

pub fn a_power_cut_loses_nothing_that_a_store_has_acknowledged() {
    let cuts = cut_at_many_moments(IN_A_FILE, |laid, said| {
        let path = laid.join(LOCAL).join("deep").join(STORE);
        if said.has.is_empty() && !path.exists() {
            return;
        }
        let mut store = Store::open(&path).expect("a store");
        said.check(&store);
        let connection = rusqlite::Connection::open(&path).expect("a file of SQLite");
        let found = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        assert_eq!(found, Ok("ok".to_owned()));
        for run in store.runs().expect("runs") {
            store.document(&run.id).expect("whole");
            store.rounds(&run.id).expect("whole");
        }
        store.import(&document("later")).expect("the store goes on");
    });
    println!("{cuts} cuts");
    assert!(cuts == 0 || cuts >= CUTS, "{cuts} cuts");
}

pub fn a_power_cut_loses_nothing_that_a_journal_has_acknowledged() {
    let cuts = cut_at_many_moments(IN_JOURNALS, |laid, said| {
        let store = with_journals(laid);
        said.check(&store);
        // Afterwards the server has it.
        for id in store.unsent().expect("listed") {
            store.sync_run(&id).expect("sent");
        }
        said.check(&Store::open(&laid.join(SERVER).join(STORE)).expect("opens"));
    });
    println!("{cuts} cuts");
    assert!(cuts == 0 || cuts >= CUTS, "{cuts} cuts");
}
