//! What reading a clock costs, and what it can tell.

use crate::Case;

/// All cases of this area.
pub const CASES: &[&Case] = &[];
