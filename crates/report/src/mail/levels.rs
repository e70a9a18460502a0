//! Which numbers of connections the tables of senders show.

use crate::net::levels;
use crate::net::sweep::Sweep;

/// Which levels tell most where there is no room for all: many, and fewer.
const MOST_INFORMATIVE: [u32; 4] = [1500, 100, 1, 5000];

/// No more levels than these are told of in detail, on however wide a page.
const MOST_LEVELS: usize = 3;

/// The positions of the `count` levels that tell most, ascending.
pub(crate) fn shown_levels(sweep: &Sweep, count: usize) -> Vec<usize> {
    levels::shown_levels_of(sweep, count.min(MOST_LEVELS), &MOST_INFORMATIVE)
}
