use std::alloc::{GlobalAlloc, Layout, System};

use measure::{CaseError, Params, Round};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{SIZE_AT_MOST, bytes_of};
use crate::{Case, Param, Takes, value_of};

/// Number of blocks that are allocated at the same time.
pub const LIVE: usize = 1_000;
/// Number of blocks that are allocated before the first of them is freed.
const BATCH: usize = 100;
/// Minimum block size of mixed sizes, in bytes.
const SMALLEST: usize = 16;

/// Allocating a block and freeing it at once.
pub const PAIR: Case = Case {
    operation: "One malloc of a block (HeapAlloc on Windows), a write to its first byte, and one free of it: the \
                allocator can give the same block each time. `oscost env` names the allocator.",
    comparable_to: "stress-ng's `malloc` and glibc's `bench-malloc-simple` make such pairs, too. Rust's standard \
                    library allocates in this way.",
    core_bound: true,
    params: &[size(&["64", "64k"])],
    run: |params, round| {
        let bytes = bytes_of(params, "size", round)?;
        platform::memory::require(bytes as u64)?;
        let block = Block::of(bytes)?;
        let mut failures = 0u64;
        round.time(|| failures += u64::from(!block.allocate_and_free()))?;
        outcome(failures)
    },
    ..Case::new("memory", "malloc")
};

/// Allocating and freeing a block among many live ones.
pub const LIVE_BLOCKS: Case = Case {
    name: "malloc-live",
    operation: "One malloc of a block, a write to its first byte, and one free of a block, while others live: of 100 \
                blocks that are all allocated and then all freed in the same order (batch), or of a pseudo-random one \
                of 1,000 blocks of 16 bytes to the size, which the new one replaces (mixed).",
    comparable_to: "The difference to memory/malloc is what an allocator needs that cannot give the block that it got \
                    last. libMicro's `malloc` allocates 100 blocks in the same way as batch.",
    core_bound: false,
    params: &[
        Param::new("pattern", &["batch", "mixed"]).meaning("which block is freed"),
        size(&["1k"]),
    ],
    run: run_live,
    ..PAIR
};

const fn size(default: &'static [&'static str]) -> Param {
    Param::new("size", default)
        .meaning("bytes of a block, or of the largest one")
        .full(&["16", "64", "256", "1k", "4k", "64k", "1m"])
        .takes(Takes::Footprint(SIZE_AT_MOST))
}

/// Blocks of one size.
#[derive(Debug, Clone, Copy)]
pub struct Block(Layout);

impl Block {
    /// The layout of blocks of `bytes` bytes.
    ///
    /// # Errors
    /// `Unsupported` for a size that exceeds the address space.
    pub fn of(bytes: usize) -> Result<Self, CaseError> {
        // Every allocator gives an alignment of 8 by default.
        Layout::from_size_align(bytes.max(1), 8)
            .map(Self)
            .map_err(|e| CaseError::Unsupported(format!("a block of {bytes} bytes: {e}")))
    }

    /// Allocates a block and writes its first byte; null if there is no memory.
    #[inline(always)]
    pub fn allocate(&self) -> *mut u8 {
        // SAFETY: the size is not zero; the first byte exists unless the result is null.
        unsafe {
            let place = System.alloc(self.0);
            if !place.is_null() {
                place.write_volatile(1);
            }
            std::hint::black_box(place)
        }
    }

    /// Allocates a block, writes to it and frees it. Returns whether there was memory.
    #[inline(always)]
    pub fn allocate_and_free(&self) -> bool {
        let place = self.allocate();
        self.free(place);
        !place.is_null()
    }

    /// Frees a block of this size, or null.
    #[inline(always)]
    pub fn free(&self, place: *mut u8) {
        if !place.is_null() {
            // SAFETY: the pointer is null or from `allocate`, and the caller no longer uses it.
            unsafe { System.dealloc(place, self.0) };
        }
    }
}

/// An error if allocations failed.
pub fn outcome(failures: u64) -> Result<(), CaseError> {
    match failures {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{n} allocations failed"))),
    }
}

fn run_live(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let bytes = bytes_of(params, "size", round)?;
    platform::memory::require((bytes * LIVE) as u64)?;
    if value_of(params, "pattern")? == "batch" { batch(round, bytes) } else { mixed(round, bytes) }
}

fn batch(round: &mut Round, bytes: usize) -> Result<(), CaseError> {
    let block = Block::of(bytes)?;
    let (mut places, mut failures) = ([std::ptr::null_mut(); BATCH], 0u64);
    round.operations_per_call(BATCH as u64);
    round.time(|| {
        for place in &mut places {
            *place = block.allocate();
            failures += u64::from(place.is_null());
        }
        places.iter().for_each(|&place| block.free(place));
    })?;
    outcome(failures)
}

fn mixed(round: &mut Round, bytes: usize) -> Result<(), CaseError> {
    /// Number of random choices that are made beforehand, so that none is made on the clock.
    const CHOICES: usize = 8_192;
    let mut random = StdRng::seed_from_u64(7);
    let choices: Result<Vec<(usize, Block)>, CaseError> = (0..CHOICES)
        .map(|_| {
            let doublings = (bytes.max(SMALLEST) as f64 / SMALLEST as f64).log2();
            let size = SMALLEST as f64 * 2f64.powf(doublings * random.random::<f64>());
            Ok((random.random_range(0..LIVE), Block::of(size as usize)?))
        })
        .collect();
    let choices = choices?;
    let smallest = Block::of(SMALLEST)?;
    let mut live: Vec<(*mut u8, Block)> =
        (0..LIVE).map(|_| (smallest.allocate(), smallest)).collect();
    let (mut at, mut failures) = (0, 0u64);
    let timed = round.time(|| {
        let (which, block) = choices[at % CHOICES];
        at += 1;
        let (old, of_old) = live[which];
        of_old.free(old);
        let place = block.allocate();
        failures += u64::from(place.is_null());
        live[which] = (place, block);
    });
    live.iter().for_each(|(place, block)| block.free(*place));
    timed.and(outcome(failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_live_at_once_are_different_memory() {
        let block = Block::of(48).unwrap();
        let mut places: Vec<*mut u8> = (0..LIVE).map(|_| block.allocate()).collect();
        // SAFETY: each block has 48 bytes, and was not freed.
        assert!(places.iter().all(|place| unsafe { place.read() } == 1));
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] as usize - pair[0] as usize >= 48));
        places.into_iter().for_each(|place| block.free(place));
    }

    #[test]
    fn an_allocation_that_fails_is_an_error() {
        let block = Block::of(usize::MAX / 4).unwrap();
        let place = block.allocate();
        assert!(place.is_null());
        block.free(place);
        assert!(matches!(outcome(1), Err(CaseError::Failed(_))));
        assert!(matches!(Block::of(usize::MAX), Err(CaseError::Unsupported(_))));
    }
}
