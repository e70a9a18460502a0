//! A chain of dependent loads: each load returns the address of the next.

use measure::CaseError;
use platform::memory::Region;

use super::permutation::Permutation;
use super::pointer_chase;

/// Cache line size in bytes of all supported processors, or a divisor of it.
pub const LINE: usize = 64;
/// Lines of one cluster: 64 KiB.
const CLUSTER: u64 = 1024;

/// Order in which a chain visits its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visits {
    /// All lines in pseudo-random order.
    Random,
    /// Clusters of 64 KiB in pseudo-random order, and the lines of each cluster in pseudo-random order: few loads miss the TLB,
    /// so that the time is that of the caches.
    Clustered,
}

/// A cycle of addresses within a region.
#[derive(Debug)]
pub struct Chain<'a> {
    region: &'a Region,
    count: u64,
    stride: usize,
    at: *const u8,
}

impl<'a> Chain<'a> {
    /// A cycle through one line for each `stride` of the first `size` bytes of `region`. From a stride of 4 KiB on, each line is
    /// one further from the beginning of its stride than the line before, so that all sets of a cache are used.
    ///
    /// # Errors
    /// `Failed` if the region is smaller, `Unsupported` if there are fewer than two lines.
    pub fn new(
        region: &'a Region,
        size: usize,
        stride: usize,
        visits: Visits,
    ) -> Result<Self, CaseError> {
        let count = (size / stride.max(1)) as u64;
        if stride < LINE || !stride.is_multiple_of(LINE) || size > region.len() {
            let text = format!("a chain of {size} bytes in steps of {stride} cannot be made");
            return Err(CaseError::Failed(text));
        }
        if count < 2 {
            let text = format!("{size} bytes have fewer than two lines at a distance of {stride}");
            return Err(CaseError::Unsupported(text));
        }
        let chain = Self { region, count, stride, at: region.start() };
        match visits {
            Visits::Random => chain.link_randomly(),
            Visits::Clustered => chain.link_in_clusters(),
        }
        Ok(chain)
    }

    /// Number of lines in the cycle.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    fn link_randomly(&self) {
        let order = Permutation::of(self.count);
        for number in 0..self.count {
            self.link(number, order.next(number));
        }
    }

    fn link_in_clusters(&self) {
        let clusters = Permutation::of(self.count.div_ceil(CLUSTER));
        for cluster in 0..self.count.div_ceil(CLUSTER) {
            let first = cluster * CLUSTER;
            let inside = (self.count - first).min(CLUSTER);
            let order = Permutation::of(inside);
            let after = clusters.next(cluster) * CLUSTER;
            for number in 0..inside {
                let next = order.next(number);
                self.link(first + number, if next == 0 { after } else { first + next });
            }
        }
    }

    #[inline(always)]
    fn address(&self, number: u64) -> *mut u8 {
        /// Stride from which lines are skewed: at the beginning of their strides they would share few sets.
        const SKEWED_FROM: usize = 4096;
        let number = number as usize;
        let skew = if self.stride < SKEWED_FROM { 0 } else { number * LINE % self.stride };
        self.region.start().wrapping_add(number * self.stride + skew)
    }

    #[inline(always)]
    fn link(&self, number: u64, next: u64) {
        // SAFETY: both numbers are below the count, so that both addresses are aligned and within the region.
        unsafe { self.address(number).cast::<*const u8>().write(self.address(next)) };
    }

    /// Follows this number of loads, rounded down to a multiple of 16, at least 16.
    #[inline(always)]
    pub fn walk(&mut self, loads: usize) {
        // SAFETY: every line of the cycle contains the address of another.
        let at = unsafe { pointer_chase::follow(self.at, (loads / pointer_chase::TURN).max(1)) };
        self.at = std::hint::black_box(at);
    }

    /// Number of lines until the cycle returns to its first one; `count() + 1` if it is more than [`Chain::count`].
    pub fn length(&self) -> usize {
        let (start, mut length) = (self.address(0).cast_const(), 0);
        let mut at = start;
        loop {
            // SAFETY: every line of the cycle contains the address of another.
            at = unsafe { at.cast::<*const u8>().read() };
            length += 1;
            if at == start || length > self.count() {
                return length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use platform::memory::Pages;

    use super::*;

    #[test]
    fn every_chain_visits_each_line_once() {
        let region = Region::new(1 << 20, Pages::Base).unwrap();
        for visits in [Visits::Random, Visits::Clustered] {
            for (size, stride) in [
                (128, 64),
                (4096, 64),
                (96 << 10, 64),
                (1 << 20, 64),
                (1 << 20, 4096),
                (100_000, 256),
            ] {
                let chain = Chain::new(&region, size, stride, visits).unwrap();
                assert_eq!(chain.count(), size / stride);
                assert_eq!(chain.length(), chain.count(), "{size} {stride} {visits:?}");
            }
        }
    }

    #[test]
    fn a_chain_with_a_short_cycle_is_detected() {
        let region = Region::new(4096, Pages::Base).unwrap();
        let chain = Chain::new(&region, 4096, 64, Visits::Random).unwrap();
        chain.link(0, 0);
        assert_eq!(chain.length(), 1);
        let chain = Chain::new(&region, 4096, 64, Visits::Random).unwrap();
        let other = (0..64).find(|&at| at != 0 && Permutation::of(64).next(0) != at).unwrap();
        chain.link(other, other);
        assert!(chain.length() > chain.count());
    }

    #[test]
    fn a_walk_makes_as_many_loads_as_asked_for() {
        let region = Region::new(8192, Pages::Base).unwrap();
        let mut chain = Chain::new(&region, 8192, 64, Visits::Random).unwrap();
        let start = chain.at;
        chain.walk(chain.count() - 16);
        assert_ne!(chain.at, start);
        chain.walk(16);
        assert_eq!(chain.at, start);
    }

    #[test]
    fn lines_at_the_distance_of_a_page_use_all_sets() {
        let region = Region::new(256 << 10, Pages::Base).unwrap();
        let chain = Chain::new(&region, 256 << 10, 4096, Visits::Random).unwrap();
        let offsets: std::collections::BTreeSet<usize> =
            (0..64).map(|number| chain.address(number) as usize % 4096).collect();
        assert_eq!(offsets.len(), 64);
    }

    #[test]
    fn what_is_too_short_is_unsupported_and_what_is_too_long_an_error() {
        let region = Region::new(8192, Pages::Base).unwrap();
        let new = |size, stride| Chain::new(&region, size, stride, Visits::Random).map(|_| ());
        assert!(matches!(new(4096, 4096), Err(CaseError::Unsupported(_))));
        assert!(matches!(new(1 << 20, 64), Err(CaseError::Failed(_))));
        assert!(matches!(new(4096, 60), Err(CaseError::Failed(_))));
    }
}
