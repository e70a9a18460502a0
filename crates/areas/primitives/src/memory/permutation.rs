//! Pseudo-random orders that are one cycle, computed without a table.

/// A permutation of `0..count` that is a single cycle.
///
/// A linear congruential generator modulo a power of two has its full period (Hull and Dobell, "Random Number
/// Generators", SIAM Review 4, 1962). Its values pass through a fixed bijection of that range, because their low bits have
/// short periods. Values that are not below `count` are skipped, which shortens the cycle but leaves it one.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
}

/// Multiplier of the generator: it is 1 modulo 4, as the full period requires.
const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;
const INCREMENT: u64 = 0x1405_7b7e_f767_814f;
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;
/// The inverse of [`MIXER`] modulo 2^64.
const UNMIXER: u64 = inverse(MIXER);

/// The inverse of an odd number modulo 2^64, by Newton's iteration, which doubles the number of correct bits.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

impl Permutation {
    /// A permutation of `count` numbers, at least one.
    pub fn of(count: u64) -> Self {
        let range = count.max(1).next_power_of_two();
        // The shift is half of the bits, rounded up: two shifts leave no bits, so that `fold` is its own inverse.
        let shift = range.trailing_zeros().div_ceil(2).max(1);
        Self { count: count.max(1), mask: range - 1, shift }
    }

    /// The number that follows `number`, which must be below the count.
    #[inline(always)]
    pub fn next(&self, number: u64) -> u64 {
        let mut value = number;
        loop {
            value = self.mix(self.step(self.unmix(value)));
            if value < self.count {
                return value;
            }
        }
    }

    #[inline(always)]
    fn step(&self, value: u64) -> u64 {
        value.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & self.mask
    }

    #[inline(always)]
    fn fold(&self, value: u64) -> u64 {
        value ^ (value >> self.shift)
    }

    #[inline(always)]
    fn mix(&self, value: u64) -> u64 {
        self.fold(self.fold(value).wrapping_mul(MIXER) & self.mask)
    }

    #[inline(always)]
    fn unmix(&self, value: u64) -> u64 {
        self.fold(self.fold(value).wrapping_mul(UNMIXER) & self.mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_one_cycle_through_all_numbers() {
        for count in (1..300).chain([511, 512, 1_000, 4_096, 5_000, 65_536, 100_003]) {
            let permutation = Permutation::of(count);
            let (mut at, mut length) = (0, 0);
            loop {
                at = permutation.next(at);
                length += 1;
                if at == 0 || length > count {
                    break;
                }
            }
            assert_eq!(length, count, "a cycle of {count}");
        }
    }

    #[test]
    fn neighbours_hardly_ever_follow_each_other() {
        let count = 65_536;
        let permutation = Permutation::of(count);
        let near = (0..count).filter(|&at| permutation.next(at).abs_diff(at) <= 2).count();
        assert!(near < 50, "{near} of {count}");
        // The distance is not constant either: a prefetcher would find a constant one.
        let mut distances: Vec<u64> =
            (0..count).map(|at| permutation.next(at).wrapping_sub(at)).collect();
        distances.sort_unstable();
        let longest = distances.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
        assert!(longest < 50, "{longest}");
    }
}
