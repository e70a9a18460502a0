//! How many clients a server can answer that is built as a process, a thread or an event loop per connection.
//!
//! All architectures serve the same protocol to the same load generator, which checks every reply. The server runs in a
//! process of its own, the generator in the round's process; [`test_bed`] chooses their CPUs and the network. Each round
//! is one trial, with a server started for it.

mod answer;
mod hold;
pub mod limits;
mod requests;
mod test_bed;
mod trial;

use std::time::Duration;

use measure::Params;
use servers::{ARCHITECTURES, Architecture};

use crate::{Case, Extent, Param, Takes, Trials, value_of};

/// All cases of this area.
pub const CASES: &[&Case] = &[&answer::CASE, &requests::CASE, &hold::CASE];

/// How they are measured.
pub const TRIALS: &[(&Case, Trials)] = &[
    (&answer::CASE, trials(answer::takes, answer::includes)),
    (&requests::CASE, trials(requests::takes, requests::includes)),
    (&hold::CASE, trials(hold::takes, hold::includes)),
];

/// Six trials of each point, each with a server of its own: more points tell more than more trials of fewer points.
const fn trials(takes: fn(&Params) -> Duration, includes: fn(&Params, Extent) -> bool) -> Trials {
    Trials { takes, only_by: None, counted: true, at_most: 6, includes }
}

/// Whether this system has the architecture of a point. Where it lacks it, a trial ends at once as unsupported.
fn is_here(params: &Params) -> bool {
    let found = value_of(params, "arch").ok().and_then(Architecture::find);
    found.is_none_or(|architecture| architecture.missing_here().is_none())
}

/// Whether an ordinary run lists an architecture that this system lacks: once, with the reason.
fn is_listed_as_missing(connections: usize, extent: Extent) -> bool {
    connections == 100 && extent == Extent::Ordinary
}

/// How the server is built: where that is not said otherwise, in every way there is.
const ARCH: Param = Param {
    name: "arch",
    meaning: "how the server is built (`oscost net serve --list`)",
    default: &all_but::<15>(&[]),
    full: &all_but::<15>(&[]),
    takes: Takes::Words(&[]),
};

/// The names of all architectures but some, in their order: `N` names, or it does not compile.
const fn all_but<const N: usize>(left_out: &[&str]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut nth, mut found) = (0, 0);
    while nth < ARCHITECTURES.len() {
        let name = ARCHITECTURES[nth].name;
        if !is_one_of(name, left_out) {
            names[found] = name;
            found += 1;
        }
        nth += 1;
    }
    assert!(found == N && found + left_out.len() == ARCHITECTURES.len(), "N, or a name, is wrong");
    names
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut nth = 0;
    while nth < names.len() {
        if is_same(name.as_bytes(), names[nth].as_bytes()) {
            return true;
        }
        nth += 1;
    }
    false
}

/// Operators are not for constants yet.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
