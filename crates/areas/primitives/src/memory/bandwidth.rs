use std::time::Duration;

use measure::time::Nanoseconds;
use measure::trial::TrialContext;
use measure::{CaseError, Params, Round};
use platform::memory::{Pages, Region, require};

use super::metrics::BANDWIDTH;
use super::stream;
use super::{FOUR_LLCS, SIZE_AT_MOST, bytes_of};
use crate::{Case, Extent, Param, Takes, Trials, count_of, size_of, value_of};
use measure::together::{Work, cpus_of, in_sum, together};

/// Time for which the threads work, and the least number of bytes that they pass over between two clock reads.
const SPAN: Duration = Duration::from_millis(12);
const BATCH: usize = 256 << 10;
/// Distance in bytes by which memmove moves the buffer's contents.
const DISTANCE: usize = stream::BLOCK;
/// Maximum size of a buffer that is sampled, since it may be in a cache.
const CACHED_AT_MOST: usize = 8 << 20;

/// Bytes passed over per second.
pub const CASE: Case = Case {
    operation: "One pass of a thread over its own buffer of a size: reading, writing or copying in a loop of \
                16-byte accesses, or memset, memcpy (from a second buffer), or memmove (by 64 bytes within \
                the buffer) of the C library.",
    comparable_to: "lmbench's `bw_mem rd, wr, cp, bzero, bcopy` and sysbench's `memory` count bytes in the same way, a \
                    copied byte once; STREAM counts it twice. `perf bench mem` has memset and memcpy.",
    trials: Some(Trials { includes, of: is_trial, at_most: 4, ..Trials::new(takes) }),
    params: &[
        Param::new("op", OPS).meaning("what is done with the buffer"),
        Param::new("size", &["256k", "64m"])
            .meaning("bytes of a buffer, in pages of the usual size")
            .full(&["4k", "16k", "64k", "256k", "1m", "4m", "16m", "64m", "256m", FOUR_LLCS])
            .takes(Takes::Footprint(SIZE_AT_MOST)),
        Param::new("workers", &["1", "1xcpus"])
            .meaning("how many threads, each on a CPU of its own, pass over a buffer of their own")
            .takes(Takes::Count(1024)),
    ],
    metrics: &[BANDWIDTH],
    run: |params, round| {
        let workers = count_of(params, "workers")?;
        let cpus = cpus_of(workers, round)?;
        let (op, size) = (value_of(params, "op")?, bytes_of(params, "size", round)?);
        let size = (size / stream::BLOCK).max(2) * stream::BLOCK;
        let buffers = if matches!(op, "copy" | "memcpy") { 2 } else { 1 };
        require((size * buffers * workers) as u64)?;
        if !is_trial(params) {
            return sample(round, op, size);
        }
        let context = TrialContext::new(round, &cpus)?;
        let trial = round.trial_of(&context, || {
            let shares = together(context.clock(), &cpus, SPAN, |_| Pass::new(op, size))?;
            Ok(in_sum(&shares))
        })?;
        round.metric(&BANDWIDTH, trial.value * size as f64);
        Ok(())
    },
    ..Case::new("memory", "bandwidth")
};

const OPS: &[&str] = &["read", "write", "copy", "memset", "memcpy", "memmove"];

/// Whether a run measures the point. A default run measures most operations on a buffer larger than the caches; within caches
/// those that differ most from them; and with all CPUs, reading and copying a large buffer. A quick run measures one point.
fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name: &str, values: &[&str]| {
        params.get(name).is_some_and(|own| values.contains(&own.as_str()))
    };
    let (alone, large) = (is("workers", &["1"]), is("size", &["64m"]));
    match extent {
        Extent::Full => true,
        Extent::Ordinary if !alone => large && is("op", &["read", "copy"]),
        Extent::Ordinary if large => !is("op", &["memmove"]),
        Extent::Ordinary => is("op", &["read", "memcpy", "memmove"]),
        Extent::Quick => large && alone && is("op", &["copy"]),
    }
}

/// Whether the rounds are trials. One thread on a cached buffer is sampled instead: a trial of many passes is no more than one
/// sample, and the passes of a whole trial are seldom undisturbed.
fn is_trial(params: &Params) -> bool {
    let is_cached = size_of(params, "size").is_ok_and(|size| size <= CACHED_AT_MOST);
    !(is_cached && count_of(params, "workers").is_ok_and(|workers| workers == 1))
}

/// Times single passes, in batches.
fn sample(round: &mut Round, op: &str, size: usize) -> Result<(), CaseError> {
    let mut pass = Pass::new(op, size)?;
    round.expect_syscalls(0.0);
    round.time(|| pass.pass())?;
    pass.verify()?;
    let bytes_a_second = |pass: Nanoseconds| size as f64 / pass.get() * 1e9;
    let bandwidth = round.median_time().map(bytes_a_second);
    round.metric(&BANDWIDTH, bandwidth);
    Ok(())
}

fn takes(params: &Params) -> Duration {
    let is_large = params.get("size").is_some_and(|size| size.ends_with('m') || size.contains('x'));
    let millis = if is_large { 60 } else { 0 };
    SPAN + Duration::from_millis(millis)
}

/// Passes of one thread over its buffer.
struct Pass {
    op: Op,
    buffer: Region,
    source: Option<Region>,
    size: usize,
    passes: u64,
    /// Number of passes with a wrong result.
    wrong: u64,
    /// Result that a pass of reading must give.
    expected: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Read,
    Write,
    Copy,
    Memset,
    Memcpy,
    Memmove,
}

impl Pass {
    fn new(op: &str, size: usize) -> Result<Self, CaseError> {
        let op = match op {
            "read" => Op::Read,
            "write" => Op::Write,
            "copy" => Op::Copy,
            "memset" => Op::Memset,
            "memcpy" => Op::Memcpy,
            _ => Op::Memmove,
        };
        let buffer = filled(size)?;
        let source = match op {
            Op::Copy | Op::Memcpy => Some(filled(size)?),
            _ => None,
        };
        let mut pass = Self { op, buffer, source, size, passes: 0, wrong: 0, expected: 0 };
        pass.expected = stream::read(pass.buffer());
        if pass.source.is_some() {
            stream::write(pass.buffer_mut(), 0);
        }
        Ok(pass)
    }

    fn buffer(&self) -> &[u8] {
        // SAFETY: the region has this size at least, all of it initialised, and is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts(self.buffer.start(), self.size) }
    }

    fn buffer_mut(&mut self) -> &mut [u8] {
        // SAFETY: the region has this size at least, all of it initialised, and is borrowed mutably as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.start(), self.size) }
    }

    /// The source of a copy; empty for other operations.
    fn source(&self) -> &[u8] {
        match &self.source {
            // SAFETY: the region has this size at least, all of it initialised, and is borrowed as long as the slice.
            Some(source) => unsafe { std::slice::from_raw_parts(source.start(), self.size) },
            None => &[],
        }
    }

    fn pass(&mut self) {
        self.passes += 1;
        let (size, value) = (self.size, self.passes);
        let source = std::ptr::from_ref(self.source()).cast::<u8>();
        let to = std::hint::black_box(self.buffer.start());
        match self.op {
            Op::Read => self.wrong += u64::from(stream::read(self.buffer()) != self.expected),
            Op::Write => stream::write(self.buffer_mut(), value),
            Op::Copy => {
                // SAFETY: the source has this size, and is another region than the buffer.
                let source = unsafe { std::slice::from_raw_parts(source, size) };
                stream::copy(source, self.buffer_mut());
            }
            // SAFETY: the buffer has this size.
            Op::Memset => unsafe { to.write_bytes(value as u8, size) },
            // SAFETY: source and buffer have this size and are two regions.
            Op::Memcpy => unsafe { to.copy_from_nonoverlapping(source, size) },
            // SAFETY: both ranges are within the buffer.
            Op::Memmove => unsafe { to.copy_from(to.add(DISTANCE), size - DISTANCE) },
        }
        std::hint::black_box(self.buffer.start());
    }
}

impl Work for Pass {
    fn batch(&mut self) -> Result<u64, CaseError> {
        let passes = (BATCH / self.size).max(1) as u64;
        for _ in 0..passes {
            self.pass();
        }
        Ok(passes)
    }

    fn verify(&mut self) -> Result<(), CaseError> {
        let (value, size, moves) = (self.passes, self.size, self.passes as usize * DISTANCE);
        let is_right = match self.op {
            Op::Read => self.wrong == 0,
            Op::Write => self.buffer().chunks_exact(8).all(|word| word == value.to_ne_bytes()),
            Op::Copy | Op::Memcpy => self.buffer() == self.source(),
            Op::Memset => self.buffer().iter().all(|&byte| byte == value as u8),
            // memmove never overwrites the last block, which is at the beginning after enough moves.
            Op::Memmove => {
                let buffer = self.buffer();
                let first = moves.min(size - DISTANCE);
                buffer[..8] == word_at(first).to_ne_bytes()
            }
        };
        let wrong = || CaseError::Implausible("the buffer has not the expected contents".into());
        if is_right && self.passes > 0 { Ok(()) } else { Err(wrong()) }
    }
}

/// Memory of this size in pages of the usual size, in which each word differs from its neighbours.
fn filled(size: usize) -> Result<Region, CaseError> {
    let region = Region::new(size, Pages::Base)?;
    for at in (0..size).step_by(8) {
        // SAFETY: the region has this size, a multiple of a word.
        unsafe { region.start().add(at).cast::<u64>().write(word_at(at)) };
    }
    Ok(region)
}

fn word_at(at: usize) -> u64 {
    (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_changes_the_buffer_as_it_should() {
        for op in OPS {
            for passes in [1, 3, 100] {
                let mut pass = Pass::new(op, 4096).unwrap();
                (0..passes).for_each(|_| pass.pass());
                assert_eq!(pass.verify(), Ok(()), "{op}, {passes} passes");
            }
        }
    }

    #[test]
    fn a_pass_that_does_too_little_is_implausible() {
        let implausible = |pass: &mut Pass| matches!(pass.verify(), Err(CaseError::Implausible(_)));
        for op in OPS {
            let mut none = Pass::new(op, 4096).unwrap();
            assert!(implausible(&mut none), "{op} that was never carried out");
        }
        for op in ["write", "copy", "memset", "memcpy"] {
            let mut pass = Pass::new(op, 4096).unwrap();
            pass.pass();
            pass.buffer_mut()[4095] ^= 1;
            assert!(implausible(&mut pass), "{op} of one byte less");
        }
        let mut read = Pass::new("read", 4096).unwrap();
        read.buffer_mut()[100] ^= 1;
        read.pass();
        assert!(implausible(&mut read));
        let mut moved = Pass::new("memmove", 4096).unwrap();
        moved.pass();
        moved.passes += 1;
        assert!(implausible(&mut moved));
    }
}
