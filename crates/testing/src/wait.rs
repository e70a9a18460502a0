//! Waiting for an event instead of sleeping.

use std::time::{Duration, Instant};

/// How long an event may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within [`PATIENCE`].
#[track_caller]
pub fn until(mut condition: impl FnMut() -> bool) {
    until_some(|| condition().then_some(()));
}

/// Waits until `find` has found something, and returns it.
///
/// # Panics
/// If it finds nothing within [`PATIENCE`].
#[track_caller]
pub fn until_some<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        // The clock is read first, so that a process that was not scheduled meanwhile looks once more.
        let waited = began.elapsed();
        if let Some(found) = find() {
            return found;
        }
        assert!(waited < PATIENCE, "it did not happen within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
