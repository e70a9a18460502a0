//! How each database carries out the statements that read many runs.

#[cfg(target_os = "linux")]
pub use linux::{Server, print_of_file};
#[cfg(not(target_os = "linux"))]
pub use other::{Server, print_of_file};

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    use results::Store;
    use shared_store::{Access, Grants};
    use testing::postgres::OWNER;

    /// The statements of `crates/results/src/store`, with values.
    const STATEMENTS: [(&str, &str); 5] = [
        (
            "runs of a history",
            "SELECT id, started, finished, oscost, tags, asked, machine_line, rounds, results, machine
             FROM runs WHERE finished IS NOT NULL AND results > 0 ORDER BY started_us, seq",
        ),
        (
            "figures of runs",
            "SELECT id, body FROM packed_figures JOIN runs ON runs.seq = run
             WHERE id IN ('20200101-020000-0000', '20200102-020000-0001')",
        ),
        ("texts of figures", "SELECT seq, text FROM texts WHERE seq IN (1, 2, 3)"),
        (
            "a document",
            "SELECT started, finished, seed, oscost, tags, asked, machine, core_clock_ghz, area_seconds, bytes, body
             FROM runs LEFT JOIN packed_results ON run = runs.seq WHERE id = '20200101-020000-0000'",
        ),
        (
            "runs with a tag",
            "SELECT value, id FROM tags JOIN runs ON runs.seq = run WHERE key = 'kernel' ORDER BY started_us, seq",
        ),
    ];

    /// A PostgreSQL server for the benchmark.
    pub struct Server(testing::postgres::Server);

    impl Server {
        pub fn start() -> Self {
            let server = testing::postgres::Server::start("").expect("PostgreSQL is installed");
            shared_store::init(&server.socket_url(OWNER, "postgres"), &Grants::default())
                .expect("a store");
            Self(server)
        }

        pub fn url(&self) -> String {
            self.0.socket_url(OWNER, "postgres")
        }

        pub fn store(&self) -> Store {
            shared_store::open(&self.url(), Access::Write).expect("opens")
        }

        pub fn bytes(&self) -> f64 {
            let bytes = self.0.sql("postgres", "SELECT pg_database_size('postgres')");
            bytes.parse().expect("a number")
        }

        pub fn print_plans(&self) {
            self.0.sql("postgres", "VACUUM ANALYZE");
            for (what, statement) in STATEMENTS {
                let explain = format!("SET search_path TO oscost; EXPLAIN (COSTS off) {statement}");
                println!("\n{what}\n{}", self.0.sql("postgres", &explain));
            }
        }
    }

    /// Prints the plans of SQLite.
    pub fn print_of_file(path: &Path) {
        let connection = rusqlite::Connection::open(path).expect("the store");
        for (what, statement) in STATEMENTS {
            let explain = format!("EXPLAIN QUERY PLAN {statement}");
            let mut explain = connection.prepare(&explain).expect("valid SQL");
            let lines = explain.query_map([], |row| row.get::<_, String>(3));
            let lines: Vec<String> = lines.and_then(Iterator::collect).expect("a plan");
            println!("\n{what}\n{}", lines.join("\n"));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::path::Path;

    use results::Store;

    /// No server is started on this system.
    pub enum Server {}

    impl Server {
        pub fn start() -> Self {
            panic!("--postgres is for Linux")
        }

        pub fn url(&self) -> String {
            match *self {}
        }

        pub fn store(&self) -> Store {
            match *self {}
        }

        pub fn bytes(&self) -> f64 {
            match *self {}
        }

        pub fn print_plans(&self) {
            match *self {}
        }
    }

    /// Plans are printed on Linux.
    pub fn print_of_file(_: &Path) {}
}
