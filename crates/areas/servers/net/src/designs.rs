//! Designs of a server, judged when systems are compared.

use measure::TIME;

use super::metrics::SERVER_CPU;
use catalog::{Application, Design, Select, Situation};

/// The designs, whose points are those of the first of these architectures that a system has.
macro_rules! designs {
    ($case:literal) => {
        &[
            designs!($case, "program per connection", "exec"),
            designs!($case, "process per connection", "fork"),
            designs!($case, "preforked processes", "prefork"),
            designs!($case, "thread per connection", "threads"),
            designs!($case, "thread pool", "pool"),
            designs!($case, "event loop", "epoll", "kqueue", "iocp", "poll"),
            designs!($case, "io_uring", "io_uring"),
            designs!($case, "async tasks", "tokio"),
        ]
    };
    ($case:literal, $name:literal, $($arch:literal),+) => {
        Design { name: $name, points: &[$(Select::point($case, &[("arch", $arch)])),+] }
    };
}

const AT_100: &[(&str, &str)] = &[("connections", "100"), ("work", "none"), ("parent", "0")];

/// A situation by the server's CPU time.
const fn by_cpu(name: &'static str) -> Situation {
    let (level, metric) = (Some("connections"), &SERVER_CPU);
    Situation { name, params: AT_100, level, metric, than: "less than" }
}

pub const APPLICATIONS: &[Application] = &[
    Application {
        name: "server",
        says: "A server of many connections, each of which is answered and closed.",
        metrics: &[&TIME, &SERVER_CPU],
        designs: designs!("net/answer"),
        situations: &[
            Situation::by_time("server, {} connections at a time", AT_100).at_level("connections"),
            by_cpu("CPU time of a server, {} connections at a time"),
            Situation::by_time(
                "server, {} connections at a time, each with 20 us of work",
                &[("connections", "100"), ("work", "cpu:20us"), ("parent", "0")],
            )
            .at_level("connections"),
        ],
    },
    Application {
        name: "server of open connections",
        says: "A server of many connections that stay open and carry requests.",
        metrics: &[&TIME, &SERVER_CPU],
        designs: designs!("net/requests"),
        situations: &[
            Situation::by_time("server, {} connections that stay open", AT_100)
                .at_level("connections"),
            by_cpu("CPU time of a server, {} connections that stay open"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use analysis::answer::answers;
    use simulated::rounds_of;

    fn answered(levels: &[&str]) -> Vec<String> {
        let rounds = |median: f64| (0..10).map(|n| median + f64::from(n)).collect::<Vec<f64>>();
        let of = |arch: &str, median: f64| {
            let point = |level: &&str| {
                rounds_of(
                    ("net/answer", [("arch", arch), ("connections", *level)]),
                    &rounds(median),
                )
            };
            levels.iter().map(point).collect::<Vec<_>>()
        };
        let results = [of("fork", 9e5), of("epoll", 1e5)].concat();
        let answers = answers(&results, &[&crate::AREA]);
        answers.iter().filter(|answer| answer.metric == "time").map(|a| a.of.clone()).collect()
    }

    #[test]
    fn without_the_usual_level_the_greatest_measured_one_has_the_answer() {
        let at = |level: &str| {
            let name = format!("server, {level} connections at a time");
            vec![name.clone(), format!("{name}, each with 20 us of work")]
        };
        assert_eq!(answered(&["1", "100", "1000"]), at("100"));
        assert_eq!(answered(&["1", "20", "3"]), at("20"));
        assert!(answered(&[]).is_empty());
    }
}
