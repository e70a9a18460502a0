//! Several threads, each with one read under way.

use measure::CaseError;

use super::reader::BlockReader;
use super::schedule::{Reads, Schedule, one_at_a_time};
use measure::together::at_once;

/// Reads blocks with one thread per reader. The threads begin together and share the blocks.
///
/// # Errors
/// Errors of the reads.
pub fn read_by_threads(
    readers: &mut [Box<dyn BlockReader>],
    schedule: &Schedule,
) -> Result<Reads, CaseError> {
    let step = readers.len();
    let each = at_once(readers.iter_mut().enumerate(), |(first, reader)| {
        one_at_a_time(reader.as_mut(), &schedule.clone(), (first, step))
    })?;
    let mut all = Reads::with_room(0);
    for reads in each {
        all.elapsed_ns = all.elapsed_ns.max(reads.elapsed_ns);
        all.ns.extend(reads.ns);
    }
    Ok(all)
}
