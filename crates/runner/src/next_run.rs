//! Predicts the next run on this machine from the earlier runs in the store.

use std::collections::BTreeSet;

use analysis::{History, is_same_machine};
use results::{Document, NODE_TAG, Store, StoreError};

/// Maximum number of runs that are considered, the latest first: older ones hardly count.
const RUNS_AT_MOST: u32 = 400;
/// Maximum number of runs of this machine that are read, the latest first.
const READ_AT_MOST: usize = 40;

/// Adds to each figure of the run `now` the range in which the next run's lies.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn predict(store: &Store, now: &mut Document) -> Result<(), StoreError> {
    let mut history = History::default();
    for earlier in earlier_runs(store, now)? {
        history.add(&earlier);
    }
    history.predict(now);
    Ok(())
}

/// The finished runs of the same machine before a run, the latest first; of a node of a fleet its own before those of nodes like it.
///
/// # Errors
/// If the store cannot be read.
pub fn earlier_runs(store: &Store, run: &Document) -> Result<Vec<Document>, StoreError> {
    let mut earlier: Vec<Document> = Vec::new();
    let mut latest = match run.run.tags.get(NODE_TAG) {
        Some(node) => store.latest_machines_with((NODE_TAG, node), &run.run.id, RUNS_AT_MOST)?,
        None => Vec::new(),
    };
    let of_node: BTreeSet<String> = latest.iter().map(|(id, _)| id.clone()).collect();
    let others = store.latest_machines(&run.run.id, RUNS_AT_MOST)?.into_iter();
    latest.extend(others.filter(|(id, _)| !of_node.contains(id)));
    for (id, machine) in latest {
        if earlier.len() == READ_AT_MOST {
            break;
        }
        if id == run.run.id || !is_same_machine(&machine, &run.machine) {
            continue;
        }
        let document = store.document(&id)?;
        let is_before = document.run.started_seconds() < run.run.started_seconds();
        if is_before && document.run.finished.is_some() {
            earlier.push(document);
        }
    }
    Ok(earlier)
}

#[cfg(test)]
mod tests {
    use results::{RoundRow, RunInfo, SCHEMA};

    use super::*;

    fn info(node: &str, at: usize) -> RunInfo {
        let started = format!("2026-09-{:02}T{:02}:00:00Z", 1 + at / 24, at % 24);
        RunInfo {
            started,
            tags: simulated::params(&[(NODE_TAG, node)]),
            ..simulated::run_info(&format!("{node}-{at}"))
        }
    }

    /// Checks that many later runs of nodes like it do not hide the earlier runs of a node.
    #[test]
    fn earlier_runs_of_the_node_itself_come_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(&folder.path().join("store.sqlite")).expect("a store");
        let machine = results::MachineFacts::new();
        for at in 0..READ_AT_MOST + 5 {
            let run = info(if at < 3 { "a" } else { "b" }, at);
            store.begin_run(&run, &machine, "plan").expect("begun");
            let round = RoundRow {
                seq: 0,
                case: "clock/std-instant".to_owned(),
                params: [].into(),
                kind: "round".to_owned(),
                outcome: "measured".to_owned(),
                started_ms: 0,
                lines: String::new(),
            };
            store.add_round(&run.id, &round).expect("stored");
            store.finish_run(&run.id, &run.started).expect("finished");
        }
        let now = Document {
            schema: SCHEMA,
            run: info("a", 100),
            machine: machine.clone(),
            results: Vec::new(),
        };
        let earlier = earlier_runs(&store, &now).expect("read");
        assert_eq!(earlier.len(), READ_AT_MOST);
        let ids: Vec<&str> = earlier.iter().map(|run| run.run.id.as_str()).collect();
        assert_eq!(ids[..4], ["a-2", "a-1", "a-0", "b-44"]);
    }
}
