//! Costs of signals, and on Windows of exceptions and asynchronous procedure calls.

mod access_fault;
mod add_exception_handler;
mod apc_thread;
mod common;
mod install;
mod kill;
mod queue_apc;
mod raise;
mod raise_exception;
mod setjmp;
mod sigchld;
mod signalfd;
mod sigqueue;
mod sigqueue_process;

pub(crate) use common::*;

use measure::Params;

use crate::{Area, Case, Counterpart, Extent};

/// The area.
pub static AREA: Area = Area {
    includes,
    counterparts: &[
        Counterpart::cases("signal/install", "signal/add-exception-handler"),
        Counterpart::cases("signal/raise", "signal/raise-exception"),
        Counterpart::cases("signal/sigqueue", "signal/queue-apc"),
        Counterpart::cases("signal/kill", "signal/apc-thread"),
    ],
    ..Area::new("signal", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &install::CASE,
    &raise::CASE,
    &kill::CASE,
    &sigqueue::CASE,
    &sigqueue_process::CASE,
    &signalfd::CASE,
    &sigchld::CASE,
    &access_fault::CASE,
    &setjmp::CASE,
    &add_exception_handler::CASE,
    &raise_exception::CASE,
    &queue_apc::CASE,
    &apc_thread::CASE,
];

/// Whether a run measures the point: a quick run measures the variant of each case that most programs use, with partners on
/// different CPUs, children that a handler reaps, and accesses that are skipped.
fn includes(params: &Params, extent: Extent) -> bool {
    let rarer = [("place", "same"), ("reaped", "by-wait"), ("remedy", "permit")];
    let has = |(name, value): &(&str, &str)| params.get(*name).is_some_and(|own| own == value);
    extent != Extent::Quick || !rarer.iter().any(has)
}
