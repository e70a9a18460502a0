//! Kinds of locks, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select, Situation};

pub const APPLICATIONS: &[Application] = &[Application {
    name: "lock",
    says: "A critical section that several threads or processes enter one at a time.",
    metrics: &[&TIME],
    designs: &[
        Design { name: "System V semaphore", points: &[&[Select::case("lock/sysv-sem")]] },
        Design {
            name: "POSIX semaphore",
            points: &[&[Select::case("lock/posix-sem-shared"), Select::case("lock/win-semaphore")]],
        },
        Design {
            name: "pthread mutex",
            points: &[&[Select::case("lock/pthread-mutex"), Select::case("lock/critical-section")]],
        },
        Design {
            name: "futex",
            points: &[&[Select::case("lock/futex"), Select::case("lock/wait-on-address")]],
        },
        Design { name: "Rust Mutex", points: &[&[Select::case("lock/std-mutex")]] },
        Design { name: "parking_lot", points: &[&[Select::case("lock/parking-lot-mutex")]] },
    ],
    situations: &[
        Situation::by_time("lock, free", super::ALONE),
        Situation::by_time("lock, contended by 2 threads", super::TWO),
    ],
}];
