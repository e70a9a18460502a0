//! Predicts the next run on this machine from the earlier runs in the store.

use analysis::{History, is_same_machine};
use results::{Document, Store, StoreError};

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

/// The finished runs of the same machine before a run, the latest first.
///
/// # Errors
/// If the store cannot be read.
pub fn earlier_runs(store: &Store, run: &Document) -> Result<Vec<Document>, StoreError> {
    let mut earlier = Vec::new();
    for (id, machine) in store.latest_machines(RUNS_AT_MOST)? {
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
