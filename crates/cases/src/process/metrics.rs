//! The metrics of processes beside the time of one operation.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Metric, Role};

pub const SPAWN: Metric = Metric::lower(
    "spawn",
    "ns",
    "one posix_spawn of a static program and the wait for it, by turns with the forks",
);
pub const SPAWN_FROM: Metric = Metric::neutral(
    "spawn-cheaper-from",
    "bytes",
    "the resident memory from which on spawning a program takes less time than fork",
)
.with(Role::Derived);
