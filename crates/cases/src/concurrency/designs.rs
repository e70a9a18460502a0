//! The ways to carry out jobs that are judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select};

const fn worth(executor: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("concurrency/worth", executor)
}

const fn jobs(executor: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("concurrency/jobs", executor)
}

pub const APPLICATIONS: &[Application] = &[Application {
    name: "jobs",
    says: "A list of short jobs, carried out at once or one after the other.",
    metrics: &[&TIME],
    designs: &[
        Design {
            name: "serial",
            points: &[&[worth(&[("executor", "serial")])], &[jobs(&[("executor", "serial")])]],
        },
        Design {
            name: "thread per job",
            points: &[&[worth(&[("executor", "threads")])], &[jobs(&[("executor", "threads")])]],
        },
        Design {
            name: "thread pool",
            points: &[&[worth(&[("executor", "pool")])], &[jobs(&[("executor", "pool")])]],
        },
        Design {
            name: "async tasks",
            points: &[&[worth(&[("executor", "tokio")])], &[jobs(&[("executor", "tokio")])]],
        },
    ],
}];
