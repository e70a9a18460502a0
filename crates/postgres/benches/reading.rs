//! Measures how long a store of a million results takes to read, in a file and in a server: what `history`, `compare`, `show` and
//! `runs` read. Prints the plans of the server.
//!
//!     cargo bench -p oscost-postgres --bench reading
//!
//! Each time is the median of five, each with a new connection.

#[cfg(unix)]
#[path = "../../results/tests/battery/mod.rs"]
#[allow(dead_code, reason = "the tests of this file run elsewhere")]
mod battery;

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use results::{CaseResult, Distribution, Document, RunInfo, SCHEMA, Store};
    use shared_store::{Access, Grants};
    use testing::postgres::{OWNER, Server};

    use super::battery::{machine, measured, run, strings};

    /// Something that is read, and how.
    type Part = (&'static str, fn(&Store));

    const RUNS: usize = 423;
    const RESULTS: usize = 2_364;
    const OF_A_KERNEL: usize = 30;
    const TRIES: usize = 5;

    pub fn main() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.sqlite");
        let mut file = Store::open(&path).expect("a store");
        let Some(server) = Server::start("") else { return };
        let url = server.socket_url(OWNER, "postgres");
        shared_store::init(&url, &Grants::default()).expect("a store");
        let mut shared = shared_store::open(&url, Access::Write).expect("opens");
        let written = [&mut file, &mut shared].map(|store| {
            let began = Instant::now();
            for night in 0..RUNS {
                store.import(&document(night)).expect("imported");
            }
            began.elapsed()
        });
        let size = |path: &std::path::Path| std::fs::metadata(path).expect("a file").len();
        drop((file, shared));
        server.sql("postgres", "ANALYZE");
        let bytes = server.sql("postgres", "SELECT pg_database_size('postgres')");
        let bytes: f64 = bytes.parse().expect("a number");
        println!("{RUNS} runs, {} results", RUNS * RESULTS);
        println!("SQLite      {:.0} MB, written in {:.0?}", size(&path) as f64 / 1e6, written[0]);
        println!("PostgreSQL  {:.0} MB, written in {:.0?}\n", bytes / 1e6, written[1]);
        let in_file = || Store::open_read_only(&path).expect("opens");
        let in_server = || shared_store::open(&url, Access::Read).expect("opens");
        println!("{:<40} {:>10} {:>10}", "", "SQLite", "PostgreSQL");
        let parts: [Part; 4] = [
            ("history: all figures of all runs", |store| read(store, RUNS)),
            ("compare: figures of two kernels, 60 runs", |store| read(store, 2 * OF_A_KERNEL)),
            ("show: the last run", |store| {
                let id = store.resolve("last").expect("a run");
                assert_eq!(store.document(&id).expect("a document").results.len(), RESULTS);
            }),
            ("runs", |store| assert_eq!(store.runs().expect("runs").len(), RUNS)),
        ];
        for (what, part) in parts {
            let [file, server] = [median(&in_file, part), median(&in_server, part)];
            println!("{what:<40} {file:>7.0} ms {server:>7.0} ms");
        }
        for (what, statement) in PLANS {
            let sql = format!(
                "SET search_path TO oscost; EXPLAIN (ANALYZE, COSTS off, SUMMARY off) {statement}"
            );
            println!("\n{what}\n{}", server.sql("postgres", &sql));
        }
    }

    const PLANS: [(&str, &str); 4] = [
        (
            "runs of a history",
            "SELECT id, started, finished, oscost, tags, asked, machine_line, rounds, results, machine
             FROM runs WHERE finished IS NOT NULL AND results > 0 ORDER BY started_us, seq",
        ),
        (
            "figures of runs",
            "SELECT id, body FROM packed_figures JOIN runs ON runs.seq = run WHERE id IN ('night-0001', 'night-0002')",
        ),
        (
            "a document",
            "SELECT started, machine, bytes, body FROM runs LEFT JOIN packed_results ON run = runs.seq
             WHERE id = 'night-0001'",
        ),
        (
            "a series of a dashboard",
            "SELECT started, machine, value FROM oscost_points
             WHERE case_name = 'area3/case-121' AND metric = 'time' ORDER BY started",
        ),
    ];

    /// Reads what a history or a comparison of the newest runs does.
    fn read(store: &Store, newest: usize) {
        let runs = store.finished_runs().expect("runs");
        let ids: Vec<&str> =
            runs[runs.len() - newest..].iter().map(|(run, _)| run.id.as_str()).collect();
        let series = store.figures(&ids, |_| true).expect("figures");
        assert_eq!(series.iter().map(|one| one.figures.len()).sum::<usize>(), newest * RESULTS);
    }

    fn median(open: &dyn Fn() -> Store, part: fn(&Store)) -> f64 {
        let mut times: Vec<f64> = (0..TRIES)
            .map(|_| {
                let began = Instant::now();
                part(&open());
                began.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[TRIES / 2]
    }

    fn document(night: usize) -> Document {
        let kernel = if night + OF_A_KERNEL >= RUNS { "new" } else { "old" };
        let started = format!(
            "{}-{:02}-{:02}T02:00:00Z",
            2024 + night / 336,
            1 + night / 28 % 12,
            1 + night % 28
        );
        let run = RunInfo {
            finished: Some(started.clone()),
            tags: strings(&[("kernel", kernel)]),
            ..run(&format!("night-{night:04}"), &started)
        };
        let results = (0..RESULTS).map(|n| result(n, night)).collect();
        Document { schema: SCHEMA, run, machine: machine(), results }
    }

    fn result(n: usize, night: usize) -> CaseResult {
        // Digits as a measurement has them.
        let value = 100.0 + n as f64 + ((n * 7919 + night * 104_729) % 100_003) as f64 / 1.0e5;
        let params = BTreeMap::from([("workers".to_owned(), (1 + n % 8).to_string())]);
        CaseResult {
            params,
            seen: Some(Distribution {
                min: value,
                p5: value,
                p25: value,
                p50: value,
                p75: value,
                p95: value,
                p99: value,
                mean: value,
            }),
            round_values: (0..9).map(|round| value + f64::from(round) / 7.0).collect(),
            ..measured(&format!("area{}/case-{n}", n / 40), value)
        }
    }
}
