//! Comparing runs: pure functions over results.

mod compare;
mod noise;
mod verdict;

pub use compare::{Compared, Difference, Ratio, Settings, also_differs, compare};
pub use noise::NoiseCheck;
pub use verdict::Verdict;
