//! Ways to start a program, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select, Situation};

const STATIC: &[(&str, &str)] = &[("program", "static")];

pub const APPLICATIONS: &[Application] = &[Application {
    name: "program start",
    says: "A program that ends at once, started and waited for.",
    metrics: &[&TIME],
    designs: &[
        Design { name: "fork and exec", points: &[Select::point("process/fork-exec", STATIC)] },
        Design { name: "vfork and exec", points: &[Select::point("process/vfork-exec", STATIC)] },
        Design {
            name: "posix_spawn",
            points: &[
                Select::point("process/posix-spawn", STATIC),
                Select::case("process/create-process"),
            ],
        },
        Design { name: "sh -c", points: &[Select::case("process/sh")] },
    ],
    situations: &[Situation::by_time("start of a small static program", &[])],
}];
