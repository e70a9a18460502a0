//! Tests of the store in a PostgreSQL server, which this program starts.

#[cfg(unix)]
#[path = "../../../results/tests/battery/mod.rs"]
mod battery;
#[cfg(unix)]
mod encryption;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod roles;
#[cfg(unix)]
mod set_up;
#[cfg(unix)]
mod views;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    unix::main()
}

/// The server's programs are started as another user, which only Unix-like systems have.
#[cfg(not(unix))]
fn main() {
    testing::not_applicable("a server for tests is started on Unix-like systems only");
}

#[cfg(unix)]
mod unix {
    use std::process::ExitCode;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};

    use results::Store;
    use shared_store::{Access, Grants};
    use testing::postgres::{OWNER, Server};

    use super::{battery, encryption, faults, roles, set_up, views};

    /// A server for all tests that do not end it.
    pub struct Shared(OnceLock<Option<Server>>);

    /// The URL of a new database without a store.
    pub fn new_database(server: &Server) -> (String, String) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("store{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        server.sql("postgres", &format!("CREATE DATABASE {name} STRATEGY file_copy"));
        (server.socket_url(OWNER, &name), name)
    }

    /// A new store, its URL, and the name of its database.
    pub fn new_store(server: &Server) -> (Store, String, String) {
        let (url, name) = new_database(server);
        shared_store::init(&url, &Grants::default()).expect("a new store");
        (shared_store::open(&url, Access::Write).expect("opens"), url, name)
    }

    /// Number of tests that run in parallel: most wait for the server.
    const AT_ONCE: usize = 8;

    pub fn main() -> ExitCode {
        let shared = Arc::new(Shared(OnceLock::new()));
        let with_server = |name: &str, test: Box<dyn Fn(&Server) + Send + Sync>| {
            let shared = Arc::clone(&shared);
            testing::test(name, move || {
                if let Some(server) = shared.0.get_or_init(|| Server::start("")) {
                    test(server);
                }
            })
        };
        let mut trials = Vec::new();
        for (name, test) in battery::TESTS {
            trials.push(with_server(name, Box::new(move |server| test(new_store(server).0))));
        }
        for &(name, test) in roles::TESTS.iter().chain(&set_up::TESTS).chain(&views::TESTS) {
            trials.push(with_server(name, Box::new(test)));
        }
        let own = faults::TESTS.into_iter().chain(encryption::TESTS);
        trials.extend(own.map(|(name, test)| testing::test(name, test)));
        let exit_code = testing::together(AT_ONCE, trials);
        // The server ends with its owner.
        drop(shared);
        exit_code
    }
}
