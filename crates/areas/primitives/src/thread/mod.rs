//! Costs of threads: starting and joining one, thread-local variables, and waking one.

mod common;
mod create_thread;
mod local;
mod pthread_create;
mod std_spawn;
mod wake;
mod wake_address;
mod wake_condvar;
mod wake_event;
mod wake_eventfd;
mod wake_futex;
mod wake_srw_condvar;

pub(crate) use common::*;

use crate::{Area, Case, Counterpart, Need, Select, SummaryRow};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &["pthread-create", "create-thread"],
            what: "512 threads with --full (ulimit -u, kernel.threads-max, pids.max of the cgroup)",
        },
        Need {
            cases: &[
                "wake-futex",
                "wake-condvar",
                "wake-eventfd",
                "wake-address",
                "wake-event",
                "wake-srw-condvar",
            ],
            what: "two CPUs for place=spread",
        },
    ],
    includes: common::includes,
    summary: &[
        SummaryRow::time(
            "thread (create and join)",
            Select::point("thread/pthread-create", &[("threads", "1")]),
        ),
        SummaryRow::time(
            "thread (create and join)",
            Select::point("thread/create-thread", &[("threads", "1")]),
        ),
    ],
    counterparts: &[
        Counterpart::cases("thread/pthread-create", "thread/create-thread"),
        Counterpart::cases("thread/wake-futex", "thread/wake-address"),
        Counterpart::cases("thread/wake-condvar", "thread/wake-srw-condvar"),
        Counterpart::cases("thread/wake-eventfd", "thread/wake-event"),
    ],
    ..Area::new("thread", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &pthread_create::CASE,
    &create_thread::CASE,
    &std_spawn::CASE,
    &local::CASE,
    &wake_futex::CASE,
    &wake_condvar::CASE,
    &wake_eventfd::CASE,
    &wake_address::CASE,
    &wake_srw_condvar::CASE,
    &wake_event::CASE,
];

#[cfg(test)]
mod tests;
