//! Kinds of locks, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select, Situation};

/// Parameters of a lock that one thread acquires, and of one that two threads contend for.
pub const ALONE: &[(&str, &str)] = &[("as", "threads"), ("work", "none"), ("workers", "1")];
pub const TWO: &[(&str, &str)] =
    &[("as", "threads"), ("place", "spread"), ("work", "none"), ("workers", "2")];

pub const APPLICATIONS: &[Application] = &[Application {
    name: "lock",
    says: "A critical section that several threads or processes enter one at a time.",
    metrics: &[&TIME],
    designs: &[
        Design { name: "System V semaphore", points: &[Select::case("lock/sysv-sem")] },
        Design {
            name: "POSIX semaphore",
            points: &[Select::case("lock/posix-sem-shared"), Select::case("lock/win-semaphore")],
        },
        Design {
            name: "pthread mutex",
            points: &[Select::case("lock/pthread-mutex"), Select::case("lock/critical-section")],
        },
        Design {
            name: "futex",
            points: &[Select::case("lock/futex"), Select::case("lock/wait-on-address")],
        },
        Design { name: "spin lock", points: &[Select::case("lock/spin-ttas")] },
        Design { name: "ticket lock", points: &[Select::case("lock/spin-ticket")] },
        Design {
            name: "file lock",
            points: &[Select::case("lock/fcntl"), Select::case("lock/flock")],
        },
        Design {
            name: "token",
            points: &[
                Select::case("lock/eventfd-token"),
                Select::case("lock/pipe-token"),
                Select::case("lock/win-event"),
            ],
        },
        Design { name: "Rust Mutex", points: &[Select::case("lock/std-mutex")] },
        Design { name: "parking_lot", points: &[Select::case("lock/parking-lot-mutex")] },
    ],
    situations: &[
        Situation::by_time("lock, free", ALONE),
        Situation::by_time("lock, contended by 2 threads", TWO),
    ],
}];
