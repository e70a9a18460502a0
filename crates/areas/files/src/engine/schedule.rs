//! Order of the reads, and the timed loops: they call a reader or a queue, and check each block.

use std::io;
use std::time::Duration;

use measure::CaseError;
use measure::time::Clock;

use super::reader::{BlockReader, ReadQueue};
use crate::BLOCK;
use crate::pattern::is_block;

/// Order of the reads, and the conditions at which reading ends.
#[derive(Clone)]
pub struct Schedule<'a> {
    /// Numbers of the blocks, in the order in which they are read.
    pub order: &'a [u32],
    /// Whether reading starts over after the last block.
    pub repeats: bool,
    /// Minimum number of reads, unless the blocks run out.
    pub at_least: usize,
    /// Maximum number of reads.
    pub at_most: usize,
    /// Time after which reading ends, between the minimum and the maximum.
    pub time: Duration,
    /// Clock that times the reads.
    pub clock: Clock,
    /// Cost of a clock read in ns, which is subtracted.
    pub clock_ns: f64,
}

impl Schedule<'_> {
    /// Number of the block of the `nth` read; `None` at the end.
    fn block(&self, nth: usize) -> Option<u32> {
        let may = nth < self.at_most && (self.repeats || nth < self.order.len());
        may.then(|| self.order[nth % self.order.len()])
    }

    fn is_enough(&self, reads: usize, elapsed_ns: f64) -> bool {
        reads >= self.at_least && elapsed_ns >= self.time.as_nanos() as f64
    }
}

/// Times of the reads.
pub struct Reads {
    /// Time of each read in ns, from its submission until its block was checked.
    pub ns: Vec<f64>,
    /// Time in ns from the first submission to the last completion, without the clock reads.
    pub elapsed_ns: f64,
}

impl Reads {
    /// An empty record with capacity for `count` reads.
    pub(super) fn with_room(count: usize) -> Self {
        // The memory is written once, so that no page fault occurs on the clock.
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
/// Errors of the calls; `Failed` if a read returns another block.
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
        // One clock read ends a read and begins the next.
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

/// Reads blocks with `depth` reads under way at once, until the schedule ends.
///
/// # Errors
/// Errors of the calls; `Failed` if a read returns another block.
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
