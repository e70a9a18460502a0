//! How fast a list of recipients gets its mail from a sender that is an event loop, or has a thread or a process for
//! each connection.
//!
//! Every architecture is `oscost mail send`, with the same queue and the same conversation; only who carries a
//! connection differs. The sender is in the round's process, `oscost mail sink` in another: [`ground`] says on which
//! CPUs, [`list`] who is written to, [`watch`] when it is
//! counted. Each round is one trial, a delivery in test mode for a moment.

mod ground;
mod list;
mod send;
mod trial;
mod watch;

use crate::{Case, Trials};

/// All cases of this area.
pub const CASES: &[&Case] = &[&send::CASE];

/// How they are measured. A trial takes long enough that few of more points tell more.
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
