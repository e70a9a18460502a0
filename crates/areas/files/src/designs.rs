//! Uses of small files, judged when systems are compared.

use measure::TIME;

use catalog::{Application, Design, Select, Situation};

pub const APPLICATIONS: &[Application] = &[
    Application {
        name: "small files",
        says: "Many small files, each created, written, read, looked up, renamed and deleted.",
        metrics: &[&TIME],
        designs: &[
            Design { name: "one thread", points: &[Select::case("file/small")] },
            Design { name: "several workers", points: &[Select::case("file/workers")] },
            Design {
                name: "each file synced",
                points: &[Select::point("file/sync", &[("sync", "file")])],
            },
        ],
        situations: &[],
    },
    Application {
        name: "file creation",
        says: "Many small files, each created and written, read, looked up, renamed and deleted by one thread.",
        metrics: &[&TIME],
        designs: &[
            Design {
                name: "a system call per step",
                points: &[Select::point("file/create", &[("how", "open")])],
            },
            Design {
                name: "io_uring in batches of 32",
                points: &[Select::point("file/create", &[("how", "io_uring")])],
            },
        ],
        situations: &[Situation::by_time("1,000 files of 4 KiB", &[])],
    },
];
