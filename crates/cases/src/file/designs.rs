//! Uses of small files, judged when systems are compared.

use measure::TIME;

use crate::{Application, Design, Select};

pub const APPLICATIONS: &[Application] = &[Application {
    name: "small files",
    says: "Many small files, each created, written, read, looked up, renamed and deleted.",
    metrics: &[&TIME],
    designs: &[
        Design { name: "one thread", points: &[&[Select::case("file/small")]] },
        Design { name: "several workers", points: &[&[Select::case("file/workers")]] },
        Design {
            name: "each file synced",
            points: &[&[Select::point("file/sync", &[("sync", "file")])]],
        },
    ],
}];
