//! Designs for carrying out jobs, judged when systems are compared.

use measure::TIME;

use catalog::{Application, Design, Select, Situation};

/// The designs, whose points are those of an executor in this case.
macro_rules! designs {
    ($case:literal) => {
        &[
            designs!($case, "serial", "serial"),
            designs!($case, "thread per job", "threads"),
            designs!($case, "threads started before", "threads-up-front"),
            designs!($case, "thread pool", "pool"),
            designs!($case, "work stealing", "rayon"),
            designs!($case, "async tasks", "tokio"),
            designs!($case, "process per job", "processes"),
        ]
    };
    ($case:literal, $name:literal, $executor:literal) => {
        Design { name: $name, points: &[Select::point($case, &[("executor", $executor)])] }
    };
}

pub const APPLICATIONS: &[Application] = &[
    Application {
        name: "jobs",
        says: "A list of short jobs of equal length, carried out at once or one after the other.",
        metrics: &[&TIME],
        designs: designs!("concurrency/worth"),
        situations: &[Situation::by_time(
            "64 CPU-bound jobs of 100 us on all CPUs",
            &[("length", "100us")],
        )],
    },
    Application {
        name: "mixed jobs",
        says: "A list of jobs of increasing lengths, carried out at once or one after the other.",
        metrics: &[&TIME],
        designs: designs!("concurrency/jobs"),
        situations: &[],
    },
];
