//! Several threads, each with one read under way.

use std::sync::Barrier;

use measure::CaseError;

use super::reader::BlockReader;
use super::schedule::{Reads, Schedule, one_at_a_time};

/// Reads blocks by a thread for each reader, which begin together and share the blocks.
///
/// # Errors
/// Those of the reads.
pub fn read_by_threads(
    readers: &mut [Box<dyn BlockReader>],
    schedule: &Schedule,
) -> Result<Reads, CaseError> {
    let step = readers.len();
    let ready = &Barrier::new(step);
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> = readers
            .iter_mut()
            .enumerate()
            .map(|(first, reader)| {
                let schedule = schedule.clone();
                scope.spawn(move || {
                    ready.wait();
                    one_at_a_time(reader.as_mut(), &schedule, (first, step))
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(reads) => reads,
            Err(_) => Err(CaseError::Failed("a thread of the trial panicked".into())),
        });
        ended.collect::<Vec<_>>()
    });
    let mut all = Reads::with_room(0);
    for reads in ended {
        let reads = reads?;
        all.elapsed_ns = all.elapsed_ns.max(reads.elapsed_ns);
        all.ns.extend(reads.ns);
    }
    Ok(all)
}
