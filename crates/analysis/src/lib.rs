//! Comparing runs of oscost: pure functions over results.
