//! A few areas for tests of what plans, judges and prints: small copies of areas of the program, with each thing that an area can
//! have.

use std::time::Duration;

use catalog::{
    APART, Application, Area, Case, Counterpart, Design, Finding, Only, Param, Select, Situation,
    SummaryRow, TEMP, Takes, Trials,
};
use measure::{Role, TIME, metrics};

metrics! {
    /// Metrics of servers.
    pub const SERVER: [
        RATE = higher("rate", "replies/s").with(Role::SameAs(TIME.name)), "replies per second";
        REPLY = lower("reply-p50", "ns"), "the median time of a reply";
        REPLY_WORST = lower("reply-p99", "ns"), "the time within which 99 % of the replies come";
        SERVER_CPU = lower("server-cpu", "ns").with(Role::OwnCost), "CPU time of the server for a reply";
        ERRORS = lower("errors", "share").with(Role::Failures), "the share of connections that failed";
        FASTER_FROM = lower("faster-from", "connections").with(Role::Derived), "the number of connections from which it is faster";
    ]
}

metrics! {
    /// Metrics of senders of mail.
    pub const SENDER: [
        TRANSACTIONS = higher("transactions", "transactions/s"), "transactions per second";
        SENDER_CPU = lower("sender-cpu", "ns").with(Role::OwnCost), "CPU time of the sender for a recipient";
    ]
}

metrics! {
    /// Metrics of lists of jobs.
    pub const JOBS: [
        CPU_USE = neutral("cpu-use", "CPUs").with(Role::CpuShare), "CPU time divided by elapsed time";
        AMDAHL = lower("amdahl-serial", "share").with(Role::Derived), "the share that is serial";
    ]
}

metrics! {
    GRANULARITY = lower("granularity", "ns"), "the least step of the clock";
    CREATE_READ = lower("create-read", "ns"), "creating and reading a file";
}

const AS: Param = Param::new("as", &["threads", "processes"]).meaning("what the workers are");
const PLACE: Param = Param::new("place", &["spread"])
    .meaning("whether the workers share a CPU")
    .takes(Takes::Words(&["same", "unpinned"]));
const WORK: Param = Param::new("work", &["none", "1us"])
    .meaning("what is done while holding the lock")
    .takes(Takes::Work(&["loop100"]));
const WORKERS: Param = Param::new("workers", &["1", "2", "2xcpus"])
    .meaning("how many contend")
    .full(&["1..1xcpus"])
    .takes(Takes::Count(1_024));
const DIR: Param =
    Param::new("dir", &[TEMP]).meaning("the directory of the files").takes(Takes::Directory);
const CONNECTIONS: Param = Param::new("connections", &["100", "1000"])
    .meaning("connections at a time")
    .takes(Takes::Count(100_000));

/// A case without parameters, whose operation is never carried out.
const fn case(area: &'static str, name: &'static str) -> Case {
    let operation = "One operation of a test.";
    Case { operation, comparable_to: "Nothing else.", ..Case::new(area, name) }
}

const fn core_bound(area: &'static str, name: &'static str) -> Case {
    Case { core_bound: true, ..case(area, name) }
}

const fn lock(name: &'static str) -> Case {
    let metrics = &[measure::worker_group::RATE];
    Case { params: &[AS, PLACE, WORK, WORKERS], metrics, ..core_bound("lock", name) }
}

/// A case of trials that take 20 ms.
const fn trials(area: &'static str, name: &'static str, params: &'static [Param]) -> Case {
    let trials = Trials::new(|_| Duration::from_millis(20));
    let trials = Some(Trials { counted: true, on_host: true, ..trials });
    Case { trials, params, ..case(area, name) }
}

const GETPPID: Select = Select::case("syscall/getppid");
const ALONE: &[(&str, &str)] = &[("as", "threads"), ("work", "none"), ("workers", "1")];

const CLOCK: Area = Area {
    summary: &[SummaryRow::time("monotonic clock", Select::case("clock/std-instant"))],
    counterparts: &[Counterpart {
        unix: Select::point("clock/gettimeofday", &[("via", "vdso")]),
        windows: Select::case("clock/query-performance-counter"),
    }],
    ..Area::new(
        "clock",
        &[
            &core_bound("clock", "std-instant"),
            &Case {
                params: &[Param::new("via", &["vdso", "syscall"]).meaning("how it is read")],
                ..core_bound("clock", "gettimeofday").on_unix()
            },
            &core_bound("clock", "query-performance-counter").on_windows(),
            &Case {
                metrics: &[GRANULARITY],
                ..core_bound("clock", "get-tick-count-64").on_windows()
            },
        ],
    )
};

const SYSCALL: Area = Area {
    summary: &[SummaryRow::time("system call", GETPPID)],
    findings: &[Finding::Ratio {
        of: Select::case("syscall/read-0"),
        to: GETPPID,
        metric: &TIME,
        greater: "A read takes {} as long as a system call that does nothing.",
        less: "A system call that does nothing takes {} as long as a read.",
        equal: "A read takes as long as a system call that does nothing ({}).",
    }],
    ..Area::new(
        "syscall",
        &[
            &core_bound("syscall", "getppid").on_unix(),
            &core_bound("syscall", "read-0").on_unix(),
            &core_bound("syscall", "getcwd"),
            &core_bound("syscall", "open-close"),
            &Case {
                params: &[Param::new("fds", &["1", "64"])
                    .meaning("the number of descriptors")
                    .takes(Takes::Count(4_096))],
                ..core_bound("syscall", "poll")
            },
        ],
    )
};

const MEMORY: Area = Area::new(
    "memory",
    &[&Case {
        params: &[Param::new("size", &["16k", "64m"])
            .meaning("the size of the array")
            .takes(Takes::Footprint(1 << 30))],
        ..case("memory", "load")
    }],
);

const LOCK: Area = Area {
    applications: &[Application {
        name: "lock",
        says: "A critical section that several threads or processes enter one at a time.",
        metrics: &[&TIME],
        designs: &[
            Design { name: "System V semaphore", points: &[Select::case("lock/sysv-sem")] },
            Design {
                name: "pthread mutex",
                points: &[
                    Select::case("lock/pthread-mutex"),
                    Select::case("lock/critical-section"),
                ],
            },
            Design { name: "futex", points: &[Select::case("lock/futex")] },
        ],
        situations: &[Situation::by_time("lock, free", ALONE)],
    }],
    counterparts: &[Counterpart::cases("lock/pthread-mutex", "lock/critical-section")],
    ..Area::new(
        "lock",
        &[
            &lock("sysv-sem").on_unix(),
            &lock("sysv-sem-no-undo").on_unix(),
            &lock("posix-sem-shared").on_unix(),
            &lock("pthread-mutex").on_unix(),
            &lock("futex").on_linux(),
            &lock("std-mutex"),
            &lock("critical-section").on_windows(),
            &lock("srwlock").on_windows(),
        ],
    )
};

const SWITCH: Area = Area::new(
    "switch",
    &[&Case {
        params: &[Param::new("place", &["same", "core"])
            .meaning("where both tasks run")
            .takes(Takes::Words(APART))],
        ..case("switch", "pipe")
    }],
);

/// Jobs that compute keep one CPU busy, and threads as many as there are.
fn keeps_busy(params: &measure::Params, cpus: usize) -> Option<f64> {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    let one = is("executor", "serial") || is("cpus", "one");
    is("kind", "cpu").then_some(if one { 1.0 } else { cpus as f64 })
}

const CONCURRENCY: Area = Area {
    includes: |params, extent| {
        extent != catalog::Extent::Quick || params.get("base").is_none_or(|base| base != "1ms")
    },
    ..Area::new(
        "concurrency",
        &[
            &Case {
                trials: Some(Trials {
                    on_host: true,
                    keeps_busy,
                    ..Trials::new(|params| {
                        let base = catalog::length_of(params, "base");
                        base.map_or(Duration::from_millis(20), |base| base * 2)
                    })
                }),
                params: &[
                    Param::new("executor", &["serial", "threads"]).meaning("what runs the jobs"),
                    Param::new("base", &["30us", "1ms"])
                        .meaning("the length of a job")
                        .full(&["10ms", "2.43s"])
                        .takes(Takes::Length),
                ],
                metrics: JOBS,
                ..case("concurrency", "jobs")
            },
            &Case {
                metrics: JOBS,
                ..trials(
                    "concurrency",
                    "degree",
                    &[Param::new("degree", &["1", "2", "4"])
                        .meaning("jobs at once")
                        .takes(Takes::Count(1_024))],
                )
            },
            &Case {
                trials: Some(Trials {
                    only_by: Some("oscost concurrency"),
                    ..Trials::new(|_| Duration::from_millis(20))
                }),
                ..case("concurrency", "answer")
            },
        ],
    )
};

const FILE: Area = Area::new(
    "file",
    &[
        &Case {
            metrics: &[CREATE_READ],
            ..trials(
                "file",
                "small",
                &[
                    Param::new("size", &["4k"])
                        .meaning("the size of each")
                        .takes(Takes::Size(1 << 30)),
                    DIR,
                ],
            )
        },
        &trials(
            "file",
            "random-read",
            &[
                Param::new("engine", &["pread", "mmap"]).meaning("how blocks are read"),
                Param::new("mode", &["cached", "direct"]).meaning("whether they are cached"),
                Param::new("size", &["16m"])
                    .meaning("the size of the file")
                    .takes(Takes::Size(1 << 40)),
                DIR,
            ],
        ),
    ],
);

const NET: Area = Area {
    applications: &[Application {
        name: "server",
        says: "A server of many connections.",
        metrics: &[&TIME, &SERVER_CPU],
        designs: &[
            Design { name: "process per connection", points: &[of_arch("fork")] },
            Design { name: "thread per connection", points: &[of_arch("threads")] },
            Design { name: "event loop", points: &[of_arch("epoll"), of_arch("iocp")] },
            Design { name: "io_uring", points: &[of_arch("io_uring")] },
        ],
        situations: &[Situation::by_time(
            "server, {} connections at a time",
            &[("connections", "100"), ("work", "none")],
        )
        .at_level("connections")],
    }],
    counterparts: &[Counterpart { unix: of_arch("epoll"), windows: of_arch("iocp") }],
    experiments: &["work", "cpus", "parent"],
    ..Area::new(
        "net",
        &[&Case {
            operation: "One connection answered with `450 too busy`.",
            metrics: SERVER,
            ..trials(
                "net",
                "answer",
                &[
                    Param::new("arch", &["fork", "threads", "epoll", "io_uring", "iocp"])
                        .meaning("the architecture of the server"),
                    CONNECTIONS,
                    Param::new("work", &["none", "cpu:20us"])
                        .meaning("what a request asks for")
                        .takes(Takes::ServerWork),
                    Param::new("cpus", &["1", "2"])
                        .meaning("CPUs of the server")
                        .takes(Takes::Count(1_024)),
                    Param::new("parent", &["0", "64m"])
                        .meaning("memory of the first process")
                        .takes(Takes::Size(4 << 30)),
                ],
            )
        }],
    )
};

const fn of_arch(arch: &'static str) -> Select {
    let params: &[(&str, &str)] = match arch.as_bytes() {
        b"epoll" => &[("arch", "epoll")],
        b"iocp" => &[("arch", "iocp")],
        b"threads" => &[("arch", "threads")],
        b"fork" => &[("arch", "fork")],
        _ => &[("arch", "io_uring")],
    };
    Select::point("net/answer", params)
}

const MAIL: Area =
    Area::new("mail", &[&Case { metrics: SENDER, ..trials("mail", "send", &[CONNECTIONS]) }]);

const SCALE: Area = Area {
    repeats: true,
    extended: &["scale/futex-wake"],
    ..Area::new(
        "scale",
        &[
            &Case { params: &[WORKERS], ..core_bound("scale", "getppid") },
            &Case {
                only: Only::Everywhere,
                params: &[WORKERS],
                ..core_bound("scale", "futex-wake")
            },
        ],
    )
};

/// The areas, in the order in which they are listed and shown.
pub const AREAS: &[&Area] =
    &[&CLOCK, &SYSCALL, &MEMORY, &LOCK, &SWITCH, &CONCURRENCY, &FILE, &NET, &MAIL, &SCALE];

/// Makes these the areas of this process; further calls change nothing.
pub fn install() {
    catalog::install(AREAS);
}
