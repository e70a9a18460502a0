//! How many clients a server can answer that is built as a process, a thread or an event loop per connection.
//!
//! Every architecture says the same to the same verified clients. The server is in a process of its own, the
//! generator in the round's; [`ground`] says on which CPUs and over which network. Each round is one
//! trial, with a server started for it.

mod answer;
mod ground;
mod hold;
pub mod limits;
mod requests;
mod trial;

use std::time::Duration;

use measure::Params;

use crate::{Case, Extent, Trials};

/// All cases of this area.
pub const CASES: &[&Case] = &[&answer::CASE, &requests::CASE, &hold::CASE];

/// How they are measured.
pub const TRIALS: &[(&Case, Trials)] = &[
    (&answer::CASE, trials(answer::takes, answer::includes)),
    (&requests::CASE, trials(requests::takes, requests::includes)),
    (&hold::CASE, trials(hold::takes, hold::includes)),
];

/// Six fresh servers for each point tell more than the same time spent on fewer.
const fn trials(takes: fn(&Params) -> Duration, includes: fn(&Params, Extent) -> bool) -> Trials {
    Trials { takes, only_by: None, counted: true, at_most: 6, includes }
}
