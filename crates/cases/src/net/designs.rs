//! The designs of a server that are judged when systems are compared.

use measure::TIME;

use super::metrics::SERVER_CPU;
use crate::{Application, Design, Select};

const fn answer(arch: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("net/answer", arch)
}

const fn requests(arch: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("net/requests", arch)
}

pub const APPLICATIONS: &[Application] = &[Application {
    name: "server",
    says: "A server of many connections: each is answered and closed, or carries requests.",
    metrics: &[&TIME, &SERVER_CPU],
    designs: &[
        Design {
            name: "process per connection",
            points: &[&[answer(&[("arch", "fork")])], &[requests(&[("arch", "fork")])]],
        },
        Design {
            name: "thread per connection",
            points: &[&[answer(&[("arch", "threads")])], &[requests(&[("arch", "threads")])]],
        },
        Design {
            name: "thread pool",
            points: &[&[answer(&[("arch", "pool")])], &[requests(&[("arch", "pool")])]],
        },
        Design {
            name: "event loop",
            points: &[
                &[
                    answer(&[("arch", "epoll")]),
                    answer(&[("arch", "kqueue")]),
                    answer(&[("arch", "iocp")]),
                    answer(&[("arch", "poll")]),
                ],
                &[
                    requests(&[("arch", "epoll")]),
                    requests(&[("arch", "kqueue")]),
                    requests(&[("arch", "iocp")]),
                    requests(&[("arch", "poll")]),
                ],
            ],
        },
        Design {
            name: "io_uring",
            points: &[&[answer(&[("arch", "io_uring")])], &[requests(&[("arch", "io_uring")])]],
        },
    ],
}];
