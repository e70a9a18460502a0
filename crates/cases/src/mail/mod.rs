//! How fast a list of recipients gets its mail from a sender that is an event loop, or has a thread or a process for
//! each connection.
//!
//! All architectures are `oscost mail send`, with the same queue and the same SMTP session; they differ in what drives a
//! connection. The sender runs in the round's process, `oscost mail sink` in another: [`test_bed`] chooses their CPUs,
//! [`list`] writes the list of recipients, [`sampler`] reads the counters at both ends of the counted time. Each round is
//! one trial: a delivery in test mode, stopped after the counted time.

mod list;
mod sampler;
mod send;
mod test_bed;
mod trial;

use crate::{Case, Trials};

/// All cases of this area.
pub const CASES: &[&Case] = &[&send::CASE];

/// How they are measured. Five trials of each point: with trials this long, more points tell more.
pub const TRIALS: &[(&Case, Trials)] = &[(
    &send::CASE,
    Trials {
        takes: send::takes,
        only_by: None,
        counted: true,
        at_most: 5,
        includes: send::includes,
    },
)];
