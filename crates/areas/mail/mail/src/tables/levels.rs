//! The numbers of connections that the tables of senders show.

use report::swept::Sweep;
use report::swept::levels;

/// Order of importance of levels, if not all fit: many connections, then fewer.
const MOST_INFORMATIVE: [u32; 4] = [1500, 100, 1, 5000];

/// Maximum number of levels shown in detail, on pages of any width.
const MOST_LEVELS: usize = 3;

/// The positions of the `count` most informative levels, ascending.
pub(crate) fn shown_levels(sweep: &Sweep, count: usize) -> Vec<usize> {
    levels::shown_levels(sweep, count.min(MOST_LEVELS), &MOST_INFORMATIVE)
}
