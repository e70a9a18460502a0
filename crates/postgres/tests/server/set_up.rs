//! Migrations, passwords and TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use results::StoreError;
use shared_store::{Access, Grants, init, open};
use testing::postgres::{OWNER, PASSWORD, Server};

use super::unix::{new_database, new_store};

type Test = (&'static str, fn(&Server));

pub const TESTS: [Test; 6] = [
    ("a_database_without_a_store_says_who_creates_one", without_a_store),
    ("owners_that_create_a_store_at_once_create_one", created_at_once),
    ("a_changed_or_unknown_migration_is_refused", other_migrations),
    ("a_store_of_an_earlier_build_is_migrated_and_read", of_an_earlier_build),
    ("a_password_is_found_in_a_file_and_never_shown", passwords),
    ("a_server_that_cannot_be_reached_is_no_store", unreachable),
];

fn refused(url: &str) -> String {
    let error = open(url, Access::Read).expect_err(url);
    assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
    error.to_string()
}

fn without_a_store(server: &Server) {
    let (url, _) = new_database(server);
    let error = refused(&url);
    assert!(error.contains("oscost store init"), "{error}");
    let error = refused(&server.socket_url(OWNER, "nowhere"));
    assert!(error.contains("createdb"), "{error}");
}

fn created_at_once(server: &Server) {
    let (url, name) = new_database(server);
    thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| init(&url, &Grants::default()))).collect();
        all.into_iter().for_each(|one| one.join().expect("no panic").expect("created"));
    });
    let applied =
        "SELECT number, name, length(checksum) FROM oscost.oscost_migrations ORDER BY number";
    assert_eq!(server.sql(&name, applied), "1|store|64\n2|node|64\n3|writers|64");
    open(&url, Access::Write).expect("a store");
}

fn other_migrations(server: &Server) {
    for (change, expected) in [
        (
            "UPDATE oscost.oscost_migrations SET checksum = 'ab' || checksum",
            "was applied from another file",
        ),
        ("INSERT INTO oscost.oscost_migrations VALUES (99, 'later', '')", "made by a newer oscost"),
        (
            "UPDATE oscost.oscost_migrations SET number = 4 WHERE number = 3",
            "was applied from another file",
        ),
    ] {
        let (_, url, name) = new_store(server);
        server.sql(&name, change);
        let before = server.sql(&name, "SELECT oscost_migrations FROM oscost.oscost_migrations");
        for message in
            [refused(&url), init(&url, &Grants::default()).expect_err(change).to_string()]
        {
            assert!(message.contains(expected) && message.contains("use "), "{message}");
        }
        let after = server.sql(&name, "SELECT oscost_migrations FROM oscost.oscost_migrations");
        assert_eq!(before, after);
    }
}

/// A store with the first two migrations, in which one user has accepted events of the runs of another.
fn of_an_earlier_build(server: &Server) {
    let (url, name) = new_database(server);
    let migrations = [
        (1, "store", include_str!("../../migrations/0001_store.sql")),
        (2, "node", include_str!("../../migrations/0002_node.sql")),
    ];
    server.sql(
        &name,
        "CREATE SCHEMA oscost; CREATE TABLE oscost.oscost_migrations (
         number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied TIMESTAMPTZ NOT NULL DEFAULT now())",
    );
    for (number, title, sql) in migrations {
        server.sql(&name, &format!("SET search_path TO oscost, pg_catalog; {sql}"));
        let checksum = format!("encode(sha256(convert_to($text${sql}$text$, 'UTF8')), 'hex')");
        let row = format!("VALUES ({number}, '{title}', {checksum})");
        let columns = "oscost.oscost_migrations (number, name, checksum)";
        server.sql(&name, &format!("INSERT INTO {columns} {row}"));
    }
    server.sql(
        &name,
        "SET search_path TO oscost;
         INSERT INTO runs (id, started, started_us, oscost, machine_line, tags, asked, seed, core_clock_ghz, area_seconds,
                           machine, writer)
             SELECT 'of-' || writer, '2026-11-21T20:36:55Z', 1, '0.1.0', '', '{}', '{}', '7', 'null', '{}', '{}', writer
             FROM unnest(ARRAY['ann', 'ben']) AS writer;
         INSERT INTO accepted_events VALUES ('of-ann/x/worse', 'hers', '', 'ann'), ('of-ann/y/worse', 'not his', '', 'ben'),
                                            ('of-ben/x/worse', 'the owner says', '', 'owner');
         INSERT INTO quiet_levels (key, alu, chase) VALUES ('key', 0.5, 0.5)",
    );
    assert!(refused(&url).contains("lacks migration 3"));
    init(&url, &Grants::default()).expect("migrated");
    let store = open(&url, Access::Write).expect("opens");
    assert_eq!(store.document("of-ben").expect("readable").run.seed, 7);
    let accepted = store.accepted_events().expect("read");
    assert_eq!(accepted.into_keys().collect::<Vec<_>>(), ["of-ann/x/worse", "of-ben/x/worse"]);
    assert_eq!(store.quiet_levels("key", "of-ann", 9).expect("read"), [], "it is not known whose");
}

fn passwords(server: &Server) {
    let (_, _, name) = new_store(server);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("passwords");
    let write = |line: String| {
        fs::write(&file, line).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    };
    let url = format!("{}?passfile={}", server.tcp_url(OWNER, &name), file.display());
    write(format!("127.0.0.1:{}:{name}:{OWNER}:{PASSWORD}\n", server.port()));
    let store = open(&url, Access::Write).expect("the password of the file");
    assert!(!format!("{store:?}").contains(PASSWORD));
    write("*:*:*:*:hunter2-wrong\n".to_owned());
    let error = open(&url, Access::Write).expect_err("a wrong password");
    assert!(error.to_string().contains("PGPASSWORD"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    let in_url = server.tcp_url(&format!("{OWNER}:{PASSWORD}"), &name);
    let store = open(&in_url, Access::Write).expect("the password of the URL");
    assert!(!format!("{store:?} {}", store.path().display()).contains(PASSWORD));
    let error = store.document("nothing").expect_err("no run");
    assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error:?}");
    write("other:*:*:*:hunter2\n".to_owned());
    let error = open(&url, Access::Write).expect_err("no password").to_string();
    assert!(error.contains("set PGPASSWORD"), "{error}");
}

fn unreachable(server: &Server) {
    let error =
        open("postgres://ann:hunter2@127.0.0.1:1/perf", Access::Read).expect_err("no server");
    assert!(matches!(error, StoreError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("postgres://ann@127.0.0.1:1/perf"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    // This server has no certificate.
    let url = format!("{}?sslmode=verify-full", server.tcp_url(OWNER, "postgres"));
    let error = open(&url, Access::Read).expect_err("no TLS").to_string();
    assert!(error.contains("TLS"), "{error}");
}
