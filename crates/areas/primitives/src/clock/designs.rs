//! Ways to read the time, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select, Situation};

const fn gettime(params: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("clock/gettime", params)
}

pub const APPLICATIONS: &[Application] = &[Application {
    name: "clock read",
    says: "One reading of a monotonic clock.",
    metrics: &[&TIME],
    designs: &[
        Design {
            name: "system call",
            points: &[gettime(&[("id", "monotonic"), ("via", "syscall")])],
        },
        Design {
            name: "vDSO",
            points: &[
                gettime(&[("id", "monotonic"), ("via", "vdso")]),
                Select::case("clock/query-performance-counter"),
            ],
        },
    ],
    situations: &[Situation::by_time("reading the clock", &[])],
}];
