//! What one call into the kernel costs.

mod getppid;

use crate::Case;

/// All cases of this area.
pub const CASES: &[&Case] = &[&getppid::CASE];
