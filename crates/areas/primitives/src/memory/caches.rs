use std::time::Duration;

use measure::doubt::Cache;
use measure::time::Clock;
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Doubt, Metric, Params, Round};
use platform::machine::{ReportedCaches, reported_caches};
use platform::memory::{HUGE_PAGE, Pages, Region, page_size, require};

use super::boundaries::{Level, levels};
use super::chain::{Chain, LINE, Visits};
use super::metrics::{
    CACHES, Detected, L1, L1_LATENCY, L2, L2_LATENCY, LLC, LLC_LATENCY, MEMORY_LATENCY, TLB_L1,
    TLB_L2,
};
use crate::{Case, Extent, Trials};

/// Points of a sweep for each doubling of the size.
const PER_DOUBLING: usize = 4;
/// Bounds of the sizes of a sweep, in bytes.
const SMALLEST: usize = 4 << 10;
const LARGEST_AT_LEAST: usize = 64 << 20;
const LARGEST_AT_MOST: usize = 128 << 20;
/// Maximum number of pages of the TLB sweep.
const MOST_PAGES: usize = 8192;
/// Number of loads timed at once: whole laps up to `LOADS_AT_MOST` lines, beyond that a part of a lap.
const LOADS_AT_LEAST: usize = 4_096;
const LOADS_AT_MOST: usize = 65_536;
const PART_OF_LAP: usize = 24_576;
/// Number of measurements of each time, of which the least counts.
const TIMES: usize = 3;
/// Number of passes over the sizes that fit a core's own caches: another program or a neighbour on the core takes a part of the
/// caches for a while.
const PASSES: usize = 4;
const OWN_CACHES: usize = 4 << 20;
/// Ratio of the detected and the reported size from which the size is doubted.
const CLOSE: f64 = 1.5;

/// Cache and TLB boundaries.
pub const CASE: Case = Case {
    operation: "One sweep of dependent loads over sizes of memory up to twice the last-level cache (64 to \
                128 MiB), and over numbers of pages, from which the sizes of the caches and the reach of \
                the TLBs are detected.",
    comparable_to: "lmbench's `cache` and `tlb` detect the same. Here huge pages back the memory of the \
                    first sweep where the system grants them, and the second takes the time of as many \
                    lines of cache away, so that neither is mistaken for the other.",
    trials: Some(Trials {
        at_most: 5,
        includes: |_, extent| extent != Extent::Quick,
        ..Trials::new(|_: &Params| Duration::from_millis(300))
    }),
    metrics: CACHES,
    run: |_, round| {
        let cpus = &round.order().cpus;
        let cpu = cpus.last().copied().unwrap_or(0);
        let context = TrialContext::new(round, &cpus[cpus.len().saturating_sub(1)..])?;
        let reported = reported_caches(cpu);
        let largest = reported.last_level().map_or(LARGEST_AT_LEAST, |bytes| 2 * bytes as usize);
        let largest = largest.clamp(LARGEST_AT_LEAST, LARGEST_AT_MOST).next_multiple_of(HUGE_PAGE);
        require(largest as u64)?;
        let region = region(largest)?;
        let clock = context.clock();
        let sweeps = round.trial_of(&context, || {
            let start = clock.now();
            let value = sweeps(clock, &region)?;
            let took = clock.between(start, clock.now());
            Ok(Timed { value, operations: 1, took: Duration::from_nanos(took.get() as u64) })
        })?;
        report(round, &sweeps.value, &reported);
        Ok(())
    },
    ..Case::new("memory", "caches")
};

/// Memory in huge pages if the system grants them, so that the sets of the second-level cache are used evenly.
fn region(bytes: usize) -> Result<Region, CaseError> {
    let huge = Region::new(bytes, Pages::Huge).and_then(|region| {
        region.populate();
        region.require_huge_pages().map(|()| region)
    });
    huge.or_else(|_| {
        let base = Region::new(bytes, Pages::Base)?;
        base.populate();
        Ok(base)
    })
}

/// Latencies in ns by size in bytes.
struct Sweeps {
    caches: Vec<(f64, f64)>,
    tlbs: Vec<(f64, f64)>,
}

fn sweeps(clock: Clock, region: &Region) -> Result<Sweeps, CaseError> {
    let unknown = |size: usize| (size as f64, f64::INFINITY);
    let mut caches: Vec<(f64, f64)> =
        sizes(SMALLEST, region.len(), LINE).into_iter().map(unknown).collect();
    for pass in 0..PASSES {
        for (size, least) in &mut caches {
            if pass == 0 || *size <= OWN_CACHES as f64 {
                let mut chain = Chain::new(region, *size as usize, LINE, Visits::Clustered)?;
                *least = least.min(latency(clock, &mut chain));
            }
        }
    }
    let page = page_size();
    let pages = Region::new(MOST_PAGES * page, Pages::Base)?;
    let mut tlbs = Vec::new();
    for size in sizes(8 * page, pages.len(), page) {
        let mut chain = Chain::new(&pages, size, page, Visits::Random)?;
        tlbs.push((size as f64, latency(clock, &mut chain)));
    }
    let tlbs = without_caches(&tlbs, &caches, page);
    Ok(Sweeps { caches, tlbs })
}

/// Sizes from `first` to `last`, `PER_DOUBLING` per doubling, rounded to multiples of `unit`.
fn sizes(first: usize, last: usize, unit: usize) -> Vec<usize> {
    let doublings = (last as f64 / first as f64).log2();
    let points = (doublings * PER_DOUBLING as f64).floor() as usize;
    let size = |at: usize| {
        let size = first as f64 * 2f64.powf(at as f64 / PER_DOUBLING as f64);
        (size as usize / unit * unit).min(last)
    };
    let mut sizes: Vec<usize> = (0..=points).map(size).collect();
    sizes.dedup();
    sizes
}

/// The time of one load, in ns.
fn latency(clock: Clock, chain: &mut Chain) -> f64 {
    let lap = chain.count();
    let loads = match lap {
        0..=LOADS_AT_LEAST => LOADS_AT_LEAST / lap * lap,
        _ if lap <= LOADS_AT_MOST => lap,
        _ => PART_OF_LAP,
    };
    if lap <= LOADS_AT_MOST {
        chain.walk(loads);
    }
    let loads = loads / 16 * 16;
    let times = (0..TIMES).map(|_| {
        let start = clock.now();
        chain.walk(loads);
        clock.between(start, clock.now()).get() / loads as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Latencies of loads from pages without the latency of the caches: that of as many cache lines in contiguous memory is replaced
/// by the fastest cache latency.
fn without_caches(pages: &[(f64, f64)], caches: &[(f64, f64)], page: usize) -> Vec<(f64, f64)> {
    let fastest = caches.iter().map(|(_, latency)| *latency).fold(f64::INFINITY, f64::min);
    let of_lines = |bytes: f64| {
        let above = caches.iter().find(|(size, _)| *size >= bytes).or(caches.last());
        above.map_or(fastest, |(_, latency)| *latency)
    };
    let rest = pages.iter().map(|&(size, latency)| {
        let lines = size / page as f64 * LINE as f64;
        (size, (latency - of_lines(lines)).max(0.0) + fastest)
    });
    rest.collect()
}

fn report(round: &mut Round, sweeps: &Sweeps, reported: &ReportedCaches) {
    let caches = levels(&sweeps.caches);
    let capacity = |levels: &[Level], at: usize| levels.get(at).and_then(|level| level.capacity);
    let llc = caches.iter().skip(2).filter_map(|level| level.capacity).next_back();
    size(round, &L1, capacity(&caches, 0), reported.l1d, Cache::FirstLevel);
    size(round, &L2, capacity(&caches, 1), reported.l2, Cache::SecondLevel);
    // A different last-level cache is no doubt: a virtual machine may have a part of it, and its reported size is often invented.
    both(round, &LLC, llc, reported.last_level());
    let tlbs = levels(&sweeps.tlbs);
    let reach = |entries: Option<u64>| entries.map(|entries| entries * page_size() as u64);
    both(round, &TLB_L1, capacity(&tlbs, 0), reach(reported.tlb_l1));
    both(round, &TLB_L2, capacity(&tlbs, 1), reach(reported.tlb_l2));
    let latencies: Vec<f64> = caches.iter().map(|level| level.latency).collect();
    if let [l1, between @ .., memory] = &latencies[..] {
        round.metric(&L1_LATENCY, *l1);
        let of_caches: [&Metric; 2] = [&L2_LATENCY, &LLC_LATENCY];
        for (metric, latency) in of_caches.into_iter().zip(between) {
            round.metric(metric, *latency);
        }
        round.metric(&MEMORY_LATENCY, *memory);
    }
}

/// Reports the detected and the reported size of a cache, with a doubt if they differ.
fn size(
    round: &mut Round,
    metrics: &Detected,
    found: Option<f64>,
    reported: Option<u64>,
    cache: Cache,
) {
    both(round, metrics, found, reported);
    match (found, reported) {
        (None, _) => round.doubt(Doubt::NoEndOfCache { cache }),
        (Some(found), Some(reported)) => {
            let ratio = found / reported as f64;
            if !(1.0 / CLOSE..=CLOSE).contains(&ratio) {
                round.doubt(Doubt::OtherCacheSize { cache });
            }
        }
        _ => {}
    }
}

fn both(round: &mut Round, metrics: &Detected, found: Option<f64>, reported: Option<u64>) {
    round.metric(&metrics.found, found.map(|found| found / 1024.0));
    round.metric(&metrics.reported, reported.map(|reported| reported as f64 / 1024.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_has_four_sizes_for_each_doubling() {
        assert_eq!(
            sizes(4096, 16384, 64),
            [4096, 4864, 5760, 6848, 8192, 9728, 11584, 13760, 16384]
        );
        assert_eq!(sizes(8 * 4096, 16 * 4096, 4096), [32768, 36864, 45056, 53248, 65536]);
    }

    #[test]
    fn the_time_of_lines_is_taken_away_from_that_of_pages() {
        // Simulated loads beyond 32 KiB take 4 ns instead of 1, and pages beyond 64 add 2 ns.
        let caches: Vec<(f64, f64)> = sizes(4096, 1 << 20, 64)
            .into_iter()
            .map(|size| (size as f64, if size <= 32 << 10 { 1.0 } else { 4.0 }))
            .collect();
        let pages: Vec<(f64, f64)> = sizes(32 << 10, 8 << 20, 4096)
            .into_iter()
            .map(|size| {
                let lines = if size / 64 <= 32 << 10 { 1.0 } else { 4.0 };
                (size as f64, lines + if size <= 256 << 10 { 0.0 } else { 2.0 })
            })
            .collect();
        let rest = without_caches(&pages, &caches, 4096);
        assert!(rest.iter().all(|&(size, ns)| ns == if size <= 262_144.0 { 1.0 } else { 3.0 }));
        let found = levels(&rest);
        assert_eq!(found.len(), 2, "{found:?}");
        let reach = found[0].capacity.unwrap() / 1024.0;
        assert!((256.0..=310.0).contains(&reach), "{reach}");
    }
}
