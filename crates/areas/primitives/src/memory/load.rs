use std::hint::black_box;

use measure::{CaseError, Round};
use platform::memory::{Pages, Region};

use super::chain::{Chain, LINE, Visits};
use super::{FOUR_LLCS, PAGES_MEANING, SIZE_AT_MOST, bytes_of};
use crate::{Case, Param, Takes, size_of, value_of};

/// Minimum and maximum number of loads of a call.
const LOADS_AT_LEAST: usize = 64;
const LOADS_AT_MOST: usize = 1024;
/// Maximum number of lines of a chain whose length is checked in each round; longer ones take too long.
const CHECKED_AT_MOST: usize = 4_096;
/// Maximum size of memory that is walked once before the measurement, since it may fit a cache; a larger lap takes too long.
const CACHED_AT_MOST: usize = 32 << 20;
/// Size in bytes that fits the first-level data cache of every processor, beside the sentinel's data.
const WITHIN_L1: usize = 8 << 10;

/// A load within memory of a given size.
pub const CASE: Case = Case {
    operation: "One load whose address is the result of the one before, within memory of a size, of \
                whose lines each is visited once in a pseudo-random order before any is visited again.",
    comparable_to: "lmbench's `lat_mem_rd -t` visits lines in random order too; without `-t` it visits \
                    them in descending order, which prefetchers follow. Both take the pages that the \
                    system chooses: huge ones make large sizes look faster.",
    params: &[
        Param::new("size", &["256k", "4m", "256m"])
            .meaning("bytes of memory")
            .full(&[
                "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m", "8m",
                "16m", "32m", "64m", "128m", "256m", FOUR_LLCS,
            ])
            .takes(Takes::Footprint(SIZE_AT_MOST)),
        Param::new("stride", &["64"])
            .meaning(
                "the distance of the lines in bytes; from 4k on, each is one line further from \
                 the beginning of its stride than the one before",
            )
            .full(&["64", "256", "4k"])
            .takes(Takes::Footprint(1 << 20)),
        Param::new("pages", &["base", "huge"]).meaning(PAGES_MEANING),
    ],
    run: |params, round| {
        let pages = match value_of(params, "pages")? {
            "huge" => Pages::Huge,
            _ => Pages::Base,
        };
        let (size, stride) = (bytes_of(params, "size", round)?, size_of(params, "stride")?);
        round.expect_syscalls(0.0);
        time(round, size, stride, pages)
    },
    ..Case::new("memory", "load")
};

/// A load from the first-level data cache.
pub const L1: Case = Case {
    name: "load-l1",
    operation: "One load whose address is the result of the one before, within 8 KiB, which are in the \
                first-level data cache.",
    comparable_to: "lmbench's `lat_mem_rd` at its smallest sizes. It is the latency that processor \
                    manuals give, in cycles.",
    core_bound: true,
    params: &[],
    run: |_, round| {
        round.expect_syscalls(0.0);
        time(round, WITHIN_L1, LINE, Pages::Base)
    },
    ..CASE
};

fn time(round: &mut Round, size: usize, stride: usize, pages: Pages) -> Result<(), CaseError> {
    platform::memory::require(size as u64)?;
    let region = Region::new(size, pages)?;
    if pages == Pages::Huge {
        region.populate();
        region.require_huge_pages()?;
    }
    let mut chain = Chain::new(&region, size, stride, Visits::Random)?;
    if chain.count() <= CHECKED_AT_MOST && chain.length() != chain.count() {
        return Err(CaseError::Implausible("the loads do not visit all lines".into()));
    }
    if size <= CACHED_AT_MOST {
        // Memory that fits a cache is in it from the second lap on.
        chain.walk(chain.count());
    }
    // A call makes one lap of small memory: after the sentinel's own loads, one call precedes each sample.
    let loads = chain.count().clamp(LOADS_AT_LEAST, LOADS_AT_MOST) / 16 * 16;
    round.operations_per_call(loads as u64);
    round.time(|| {
        chain.walk(loads);
        black_box(&chain);
    })
}

#[cfg(test)]
mod tests {
    use measure::round::Mode;

    use super::*;

    fn outcome(params: &[(&str, &str)]) -> Result<(), CaseError> {
        rehearsal::run(&CASE, &rehearsal::params(params), Mode::CountRest).1
    }

    #[test]
    fn what_the_machine_cannot_have_is_unsupported() {
        let unsupported =
            |params: &[(&str, &str)]| matches!(outcome(params), Err(CaseError::Unsupported(_)));
        assert!(unsupported(&[("size", "4k"), ("stride", "4k"), ("pages", "base")]));
        if platform::memory::available().is_some() {
            assert!(unsupported(&[("size", "4096g"), ("stride", "64"), ("pages", "base")]));
        }
        assert_eq!(outcome(&[("size", "8k"), ("stride", "4k"), ("pages", "base")]), Ok(()));
    }
}
