//! Designs of a server, judged when systems are compared.

use measure::TIME;

use super::metrics::SERVER_CPU;
use crate::{Application, Design, Select, Situation};

/// A design whose points are those of the first of these architectures that a system has.
macro_rules! design {
    ($name:literal: $($arch:literal),+) => {
        Design {
            name: $name,
            points: &[
                &[$(Select::point("net/answer", &[("arch", $arch)])),+],
                &[$(Select::point("net/requests", &[("arch", $arch)])),+],
            ],
        }
    };
}

const AT_100: &[(&str, &str)] = &[("connections", "100"), ("work", "none"), ("parent", "0")];

pub const APPLICATIONS: &[Application] = &[Application {
    name: "server",
    says: "A server of many connections: each is answered and closed, or carries requests.",
    metrics: &[&TIME, &SERVER_CPU],
    designs: &[
        design!("process per connection": "fork"),
        design!("thread per connection": "threads"),
        design!("thread pool": "pool"),
        design!("event loop": "epoll", "kqueue", "iocp", "poll"),
        design!("io_uring": "io_uring"),
    ],
    situations: &[
        Situation::by_time("server, 100 connections at a time", AT_100),
        Situation {
            name: "CPU time of such a server",
            params: AT_100,
            metric: &SERVER_CPU,
            than: "less than",
        },
        Situation::by_time(
            "server, 100 connections at a time, each with 20 us of work",
            &[("connections", "100"), ("work", "cpu:20us")],
        ),
    ],
}];
