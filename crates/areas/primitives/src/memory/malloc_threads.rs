use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use measure::round::PATIENCE;
use measure::time::Stopwatch;
use measure::trial::TrialContext;
use measure::{CaseError, Params, Round};

use super::malloc::{Block, outcome};
use super::metrics::BLOCK_RATE;
use super::{SIZE_AT_MOST, bytes_of};
use crate::{Case, Param, Takes, Trials, count_of, value_of};
use measure::together::{Work, in_sum, together};

/// Time for which the threads allocate.
const SPAN: Duration = Duration::from_millis(12);
/// Number of blocks that are allocated before the first of them is freed, or passed to another thread.
const BATCH: usize = 100;
/// Maximum number of batches on their way to another thread.
const QUEUED: usize = 8;

/// Several threads that allocate at once.
pub const CASE: Case = Case {
    operation: "One malloc of a block, a write to its first byte, and one free, as seen by one of several threads on \
                CPUs of their own: blocks are allocated and freed 100 at a time, by the same thread, or allocated by one \
                and freed by another, in pairs of threads.",
    comparable_to: "will-it-scale's `malloc1` and `malloc2` allocate and free in several threads; in the benchmarks larson \
                    and xmalloc-test, another thread frees.",
    trials: Some(Trials::new(|_: &Params| SPAN + Duration::from_millis(3))),
    params: &[
        Param::new("workers", &["1xcpus"])
            .meaning("how many threads allocate or free")
            .full(&["1", "2", "1xcpus"])
            .takes(Takes::Count(1024)),
        Param::new("freed-by", &["same", "other"]).meaning(
            "which thread frees a block: the same that allocated it, or the other of a pair",
        ),
        Param::new("size", &["64"])
            .meaning("bytes of a block")
            .full(&["16", "64", "1k", "64k"])
            .takes(Takes::Footprint(SIZE_AT_MOST)),
    ],
    metrics: &[BLOCK_RATE],
    run,
    ..Case::new("memory", "malloc-threads")
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let (workers, size) = (count_of(params, "workers")?, bytes_of(params, "size", round)?);
    let by_other = value_of(params, "freed-by")? == "other";
    let all = round.order().cpus.clone();
    if workers > all.len() || by_other && workers < 2 {
        let needed = workers.max(if by_other { 2 } else { 1 });
        let text = format!("needs {needed} threads on CPUs of their own; {} usable", all.len());
        return Err(CaseError::Unsupported(text));
    }
    // An odd number of threads is reduced by one, which would have no partner.
    let workers = if by_other { workers / 2 * 2 } else { workers };
    platform::memory::require((workers * size * BATCH * QUEUED) as u64)?;
    let cpus: Vec<usize> = all.iter().rev().take(workers).copied().collect();
    let block = Block::of(size)?;
    let context = TrialContext::new(round, &cpus)?;
    let trial = round.trial_of(&context, || {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..workers.div_ceil(2))
            .map(|_| sync_channel::<[usize; BATCH]>(QUEUED))
            .map(|(sender, receiver)| (Mutex::new(Some(sender)), Mutex::new(Some(receiver))))
            .unzip();
        let shares = together(context.clock(), &cpus, SPAN, |number| {
            let pair = number / 2;
            Ok(match (by_other, number % 2) {
                (false, _) => Member::Both(Batch::new(block)),
                (true, 0) => Member::Allocates(Batch::new(block), taken(&senders[pair])?),
                (true, _) => Member::Frees(block, taken(&receivers[pair])?),
            })
        })?;
        Ok(in_sum(&shares))
    })?;
    round.metric(&BLOCK_RATE, trial.value);
    Ok(())
}

/// Takes the end of a channel, which belongs to one thread.
fn taken<T>(end: &Mutex<Option<T>>) -> Result<T, CaseError> {
    let taken = end.lock().ok().and_then(|mut end| end.take());
    taken.ok_or_else(|| CaseError::Failed("the end of a channel was taken twice".into()))
}

/// Blocks that a thread has allocated.
struct Batch {
    block: Block,
    places: [*mut u8; BATCH],
}

impl Batch {
    fn new(block: Block) -> Self {
        Self { block, places: [std::ptr::null_mut(); BATCH] }
    }

    fn allocate(&mut self) -> Result<(), CaseError> {
        let block = self.block;
        self.places.iter_mut().for_each(|place| *place = block.allocate());
        outcome(self.places.iter().filter(|place| place.is_null()).count() as u64)
    }

    fn free(&self) {
        self.places.iter().for_each(|&place| self.block.free(place));
    }
}

/// Role of a thread.
enum Member {
    Both(Batch),
    Allocates(Batch, SyncSender<[usize; BATCH]>),
    Frees(Block, Receiver<[usize; BATCH]>),
}

impl Work for Member {
    /// Allocates or frees a batch. A block counts in the thread that frees it.
    fn batch(&mut self) -> Result<u64, CaseError> {
        match self {
            Self::Both(batch) => {
                batch.allocate()?;
                batch.free();
                Ok(BATCH as u64)
            }
            Self::Allocates(batch, sender) => {
                batch.allocate()?;
                let mut places = Some(batch.places.map(|place| place.expose_provenance()));
                actively(|| match sender.try_send(places.take()?) {
                    Ok(()) => Some(()),
                    Err(TrySendError::Full(back)) => {
                        places = Some(back);
                        None
                    }
                    // The thread that frees has ended before this one.
                    Err(TrySendError::Disconnected(_)) => {
                        batch.free();
                        Some(())
                    }
                })?;
                Ok(0)
            }
            Self::Frees(block, receiver) => actively(|| match receiver.try_recv() {
                Ok(places) => {
                    free(*block, places);
                    Some(BATCH as u64)
                }
                Err(TryRecvError::Disconnected) => Some(0),
                Err(TryRecvError::Empty) => None,
            }),
        }
    }

    /// Frees the blocks that are still on their way.
    fn verify(&mut self) -> Result<(), CaseError> {
        if let Self::Frees(block, receiver) = self {
            receiver.try_iter().for_each(|places| free(*block, places));
        }
        Ok(())
    }
}

/// Repeats `attempt` until it has a result, without sleeping: waking a thread takes longer than allocating.
fn actively<T>(mut attempt: impl FnMut() -> Option<T>) -> Result<T, CaseError> {
    /// Number of attempts between two clock reads, after which the thread yields.
    const ATTEMPTS: usize = 1_000;
    let watch = Stopwatch::start();
    while watch.elapsed().get() < PATIENCE.as_nanos() as f64 {
        for _ in 0..ATTEMPTS {
            if let Some(result) = attempt() {
                return Ok(result);
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
    Err(CaseError::TimedOut("the other thread did not take or give any blocks".into()))
}

fn free(block: Block, places: [usize; BATCH]) {
    places.iter().for_each(|&place| block.free(std::ptr::with_exposed_provenance_mut(place)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_where_it_is_freed() {
        let block = Block::of(64).unwrap();
        let (sender, receiver) = sync_channel(QUEUED);
        let mut allocates = Member::Allocates(Batch::new(block), sender);
        let mut frees = Member::Frees(block, receiver);
        assert_eq!(allocates.batch(), Ok(0));
        assert_eq!(frees.batch(), Ok(BATCH as u64));
        assert_eq!(Member::Both(Batch::new(block)).batch(), Ok(BATCH as u64));
        allocates.batch().unwrap();
        drop(allocates);
        assert_eq!(frees.verify(), Ok(()));
        assert_eq!(frees.batch(), Ok(0), "the queue was emptied, and its other end is closed");
    }

    #[test]
    fn what_the_other_thread_does_not_take_is_freed() {
        let (sender, receiver) = sync_channel(QUEUED);
        drop(receiver);
        let mut allocates = Member::Allocates(Batch::new(Block::of(64).unwrap()), sender);
        assert_eq!(allocates.batch(), Ok(0));
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error() {
        let mut both = Member::Both(Batch::new(Block::of(usize::MAX / 4).unwrap()));
        assert!(matches!(both.batch(), Err(CaseError::Failed(_))));
    }
}
