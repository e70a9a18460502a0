//! Reproducible pseudorandom numbers.

/// The generator SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): the same
/// sequence for the same seed on every system and in every version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator for one connection, whose numbers are independent of other connections.
    pub fn new(seed: u64, connection: u64) -> Self {
        let mut random = Self(seed);
        Self(random.next() ^ connection.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_paper_and_depend_on_the_seed() {
        // The reference implementation publishes these first outputs for the seed 1234567.
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(SplitMix64::new(1, 2), SplitMix64::new(1, 2));
        assert_ne!(SplitMix64::new(1, 2), SplitMix64::new(1, 3));
        assert_ne!(SplitMix64::new(1, 2), SplitMix64::new(2, 2));
    }
}
