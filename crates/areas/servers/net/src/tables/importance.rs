//! Which numbers of connections a narrow table shows.

/// Order of importance of levels, if not all fit: idle, high load, then those between and beyond.
pub(super) const MOST_INFORMATIVE: [u32; 8] = [1000, 1, 100, 5000, 10, 500, 2500, 1500];
