//! Designs for carrying out jobs, judged when systems are compared.

use measure::TIME;

use catalog::{Application, Design, Select, Situation};

/// A design whose points are those of one executor.
macro_rules! design {
    ($name:literal: $executor:literal) => {
        Design {
            name: $name,
            points: &[
                &[Select::point("concurrency/worth", &[("executor", $executor)])],
                &[Select::point("concurrency/jobs", &[("executor", $executor)])],
            ],
        }
    };
}

pub const APPLICATIONS: &[Application] = &[Application {
    name: "jobs",
    says: "A list of short jobs, carried out at once or one after the other.",
    metrics: &[&TIME],
    designs: &[
        design!("serial": "serial"),
        design!("thread per job": "threads"),
        design!("thread pool": "pool"),
        design!("async tasks": "tokio"),
    ],
    situations: &[Situation::by_time(
        "64 CPU-bound jobs of 100 us on all CPUs",
        &[("length", "100us")],
    )],
}];
