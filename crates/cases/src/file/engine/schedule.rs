//! Which blocks are read, and the loops that read them. What is on the clock is here: the calls of a reader or a queue, and
//! the check of each block.

use std::io;
use std::time::Duration;

use measure::CaseError;
use measure::time::Clock;

use super::reader::{BlockReader, ReadQueue};
use crate::file::BLOCK;
use crate::file::pattern::is_block;

/// Which blocks are read, and when it is enough.
#[derive(Clone)]
pub struct Schedule<'a> {
    /// The numbers of the blocks, in the order in which they are read.
    pub order: &'a [u32],
    /// Whether they are read again after the last.
    pub repeats: bool,
    /// So many are read in any case, if there are so many.
    pub at_least: usize,
    /// And no more than this.
    pub at_most: usize,
    /// Between the two, reading ends after this time.
    pub time: Duration,
    /// Times the reads.
    pub clock: Clock,
    /// What a reading of it costs, to be subtracted.
    pub clock_ns: f64,
}

impl Schedule<'_> {
    /// The block to be read as the `nth`.
    fn block(&self, nth: usize) -> Option<u32> {
        let may = nth < self.at_most && (self.repeats || nth < self.order.len());
        may.then(|| self.order[nth % self.order.len()])
    }

    fn is_enough(&self, reads: usize, elapsed_ns: f64) -> bool {
        reads >= self.at_least && elapsed_ns >= self.time.as_nanos() as f64
    }
}

/// What reads took.
pub struct Reads {
    /// Of each, from its submission until its block was checked.
    pub ns: Vec<f64>,
    /// From the first submission to the last completion, without the clock's readings.
    pub elapsed_ns: f64,
}

impl Reads {
    /// With room for so many.
    pub(super) fn with_room(count: usize) -> Self {
        // Its pages are touched before the clock starts.
        let mut ns = vec![1.0; count];
        ns.clear();
        Self { ns, elapsed_ns: 0.0 }
    }

    fn end(mut self, elapsed_ns: f64, schedule: &Schedule) -> Self {
        self.elapsed_ns = (elapsed_ns - schedule.clock_ns * self.ns.len() as f64).max(1.0);
        self
    }
}

fn offset_of(block: u32) -> u64 {
    u64::from(block) * BLOCK as u64
}

fn expect_block(bytes: &[u8], number: u32) -> Result<(), CaseError> {
    if is_block(bytes, number.into()) {
        return Ok(());
    }
    Err(CaseError::Failed(format!("what was read as block {number} is not that block")))
}

fn failed(e: io::Error) -> CaseError {
    CaseError::from_io("reading a block", &e)
}

/// Reads every `step`th block from the `first` on, one after the other.
///
/// # Errors
/// Those of the calls; `Failed` if a block is not the one asked for.
pub fn one_at_a_time(
    reader: &mut dyn BlockReader,
    schedule: &Schedule,
    (first, step): (usize, usize),
) -> Result<Reads, CaseError> {
    let clock = schedule.clock;
    let mut reads = Reads::with_room(schedule.at_most.div_ceil(step));
    let begun = clock.now();
    let (mut started, mut nth) = (begun, first);
    while let Some(block) = schedule.block(nth) {
        let bytes = reader.read(offset_of(block)).map_err(failed)?;
        expect_block(bytes, block)?;
        // The end of one read is the beginning of the next.
        let now = clock.now();
        reads.ns.push((clock.between(started, now).get() - schedule.clock_ns).max(0.0));
        (started, nth) = (now, nth + step);
        if schedule.is_enough(reads.ns.len() * step, clock.between(begun, now).get()) {
            break;
        }
    }
    let elapsed_ns = clock.between(begun, started).get();
    Ok(reads.end(elapsed_ns, schedule))
}

/// Reads blocks with `depth` reads under way, until the end.
///
/// # Errors
/// Those of the calls; `Failed` if a block is not the one asked for.
pub fn several_at_a_time(
    queue: &mut dyn ReadQueue,
    schedule: &Schedule,
    depth: usize,
) -> Result<Reads, CaseError> {
    let clock = schedule.clock;
    let mut reads = Reads::with_room(schedule.at_most);
    let mut blocks = vec![0u32; depth];
    let mut done = Vec::with_capacity(depth);
    let begun = clock.now();
    let mut started = vec![begun; depth];
    let (mut submitted, mut under_way, mut last) = (0, 0, begun);
    for (slot, kept) in blocks.iter_mut().enumerate() {
        let Some(block) = schedule.block(submitted) else { break };
        *kept = block;
        queue.submit(slot, offset_of(block)).map_err(failed)?;
        submitted += 1;
        under_way += 1;
    }
    while under_way > 0 {
        done.clear();
        queue.wait(&mut done).map_err(failed)?;
        for &slot in &done {
            expect_block(queue.block(slot), blocks[slot])?;
            last = clock.now();
            let took = clock.between(started[slot], last).get() - schedule.clock_ns;
            reads.ns.push(took.max(0.0));
            under_way -= 1;
            if schedule.is_enough(reads.ns.len(), clock.between(begun, last).get()) {
                continue;
            }
            let Some(block) = schedule.block(submitted) else { continue };
            (blocks[slot], started[slot]) = (block, last);
            queue.submit(slot, offset_of(block)).map_err(failed)?;
            submitted += 1;
            under_way += 1;
        }
    }
    let elapsed_ns = clock.between(begun, last).get();
    Ok(reads.end(elapsed_ns, schedule))
}
