//! Metrics of processes besides the time of one operation.

use measure::{Role, metrics};

metrics! {
    SPAWN = lower("spawn", "ns"),
        "one posix_spawn of a static program and the wait for it, by turns with the forks";
    SPAWN_FROM = neutral("spawn-cheaper-from", "bytes").with(Role::Derived),
        "the resident memory from which on spawning a program takes less time than fork";
}
