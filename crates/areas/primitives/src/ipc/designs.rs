//! Means of communication between two tasks, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select, Situation};

pub const APPLICATIONS: &[Application] = &[Application {
    name: "round trip",
    says: "A message to another task of this machine, and one back.",
    metrics: &[&TIME],
    designs: &[
        Design { name: "TCP", points: &[Select::case("ipc/tcp")] },
        Design { name: "Unix-domain socket", points: &[Select::case("ipc/unix-stream")] },
        Design {
            name: "pipe",
            points: &[Select::case("ipc/pipe"), Select::case("ipc/named-pipe")],
        },
        Design {
            name: "shared memory",
            points: &[Select::case("ipc/shm-futex"), Select::case("ipc/shm-wait-on-address")],
        },
    ],
    situations: &[Situation::by_time(
        "1 byte to another process and back, on one CPU",
        &[("message", "1"), ("place", "same")],
    )],
}];
