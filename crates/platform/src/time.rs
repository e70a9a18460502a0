//! Clocks, and the precision of sleeps.

pub mod clock;
pub mod timer;
