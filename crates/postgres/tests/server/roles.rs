//! Who may do what.

use results::{CaseResult, Store, StoreError};
use shared_store::{Access, Grants};
use testing::postgres::Server;

use super::battery::{machine, measured, round, run};
use super::unix::new_store;

type Test = (&'static str, fn(&Server));

pub const TESTS: [Test; 5] = [
    ("a_writer_adds_runs_and_changes_its_own_only", a_writer_changes_its_own_runs_only),
    ("what_judges_figures_belongs_to_its_writer", judged_by_their_own),
    ("no_statement_does_more_than_its_role_may", statements),
    ("a_reader_reads_and_a_stranger_does_not", a_reader_reads_and_a_stranger_does_not),
    ("a_store_opened_for_reading_cannot_be_written_to", opened_for_reading),
];

const NIGHT: &str = "2026-11-21T20:36:55Z";

fn begin(store: &mut Store, id: &str) {
    store.begin_run(&run(id, NIGHT), &machine(), "{}").expect("a new run");
    store.add_round(id, &round(0)).expect("a round");
    store.put_results(id, &[measured("lock/futex", 20.0)]).expect("results");
}

fn roles(server: &Server, names: &[&str]) {
    for name in names {
        server.sql("postgres", &format!("CREATE ROLE \"{name}\" LOGIN"));
    }
}

fn a_writer_changes_its_own_runs_only(server: &Server) {
    let (mut owner, url, name) = new_store(server);
    // Names with a meaning in SQL.
    let [ann, ben] = ["ann", "ben\"; --"];
    roles(server, &[ann]);
    server.sql("postgres", "CREATE ROLE \"ben\"\"; --\" LOGIN");
    let grants = Grants { writers: vec![ann.to_owned(), ben.to_owned()], readers: Vec::new() };
    shared_store::init(&url, &grants).expect("granted");
    let open = |user: &str| {
        shared_store::open(&server.socket_url(user, &name), Access::Write).expect("opens")
    };
    let (mut ann, mut ben) = (open("ann"), open("ben%22%3B%20--"));
    begin(&mut ann, "of-ann");
    begin(&mut ben, "of-ben");
    begin(&mut owner, "of-owner");
    assert_eq!(ann.document("of-ben").expect("readable").results, [measured("lock/futex", 20.0)]);
    for (other, id) in [(&mut ann, "of-ben"), (&mut ben, "of-owner")] {
        let none: &[CaseResult] = &[];
        for (what, done) in [
            ("round", other.add_round(id, &round(1))),
            ("results", other.put_results(id, none)),
            ("facts", other.put_run_facts(id, None, &Default::default())),
            ("end", other.finish_run(id, NIGHT)),
            ("deletion", other.delete_run(id)),
        ] {
            let error = done.expect_err(what);
            assert!(matches!(error, StoreError::OthersRun { .. }), "{what}: {error}");
        }
    }
    assert_eq!(owner.rounds("of-ben").expect("as it was"), [round(0)]);
    // By SQL, too.
    for sql in [
        "UPDATE oscost.runs SET writer = 'ann' WHERE id = 'of-ben'",
        "DELETE FROM oscost.packed_rounds",
        "UPDATE oscost.packed_figures SET body = ''",
        "INSERT INTO oscost.tags SELECT seq, 'kernel', 'mine' FROM oscost.runs WHERE id = 'of-ben'",
        "UPDATE oscost.runs SET writer = 'ben' WHERE id = 'of-ann'",
        "UPDATE oscost.texts SET text = 'x'",
        "DELETE FROM oscost.oscost_migrations",
    ] {
        // Some are errors, and others find nothing to change.
        let _ = server.try_sql(&name, &format!("SET SESSION AUTHORIZATION ann; {sql}"));
    }
    let count = "SELECT count(*), count(*) FILTER (WHERE writer = 'ann') FROM oscost.runs";
    assert_eq!(server.sql(&name, count), "3|1");
    // Rounds of her own she may delete.
    assert_eq!(server.sql(&name, "SELECT count(*) FROM oscost.packed_rounds"), "2");
    let bodies = "SELECT count(*) FROM oscost.packed_figures WHERE length(body) > 0";
    assert_eq!(server.sql(&name, bodies), "2");
    assert_eq!(server.sql(&name, "SELECT count(*) FROM oscost.tags"), "0");
    ann.delete_run("of-ann").expect("her own");
    owner.delete_run("of-ben").expect("the owner may");
    // A writer cannot grant what is not hers.
    server.sql("postgres", "CREATE ROLE eve LOGIN");
    let grants = Grants { writers: vec!["eve".to_owned()], readers: Vec::new() };
    let error = shared_store::init(&server.socket_url("ann", &name), &grants);
    let error = error.expect_err("not hers").to_string();
    assert!(error.contains("permission denied") || error.contains("only the owner"), "{error}");
    let may = "SELECT has_schema_privilege('eve', 'oscost', 'usage')";
    assert_eq!(server.sql(&name, may), "f");
}

/// Two writers and a reader of one store: Ann's runs are judged by what Ann has stored, whoever reads them.
fn judged_by_their_own(server: &Server) {
    let (mut owner, url, name) = new_store(server);
    let [ann, ben, rita] = ["judged-ann", "judged-ben", "judged-rita"];
    roles(server, &[ann, ben, rita]);
    let writers = [ann, ben].map(str::to_owned).to_vec();
    let grants = Grants { writers, readers: vec![rita.to_owned()] };
    shared_store::init(&url, &grants).expect("granted");
    let open = |user: &str, access| {
        shared_store::open(&server.socket_url(user, &name), access).expect("opens")
    };
    let [mut ann, mut ben] = [ann, ben].map(|user| open(user, Access::Write));
    let rita = open(rita, Access::Read);
    begin(&mut ann, "of-ann");
    begin(&mut ben, "of-ben");
    ann.add_quiet_level("key", 0.5, 1.0).expect("kept");
    ben.add_quiet_level("key", 9.0, 9.0).expect("kept");
    for store in [&ann, &ben, &rita, &owner] {
        let of = |id: &str| store.quiet_levels("key", id, 9).expect("read");
        assert_eq!((of("of-ann"), of("of-ben")), (vec![(0.5, 1.0)], vec![(9.0, 9.0)]));
        let latest = store.latest_machines("of-ann", 9).expect("read");
        assert_eq!(latest, [("of-ann".to_owned(), machine())]);
    }
    // Before its run is there, a level is this user's.
    assert_eq!(ann.quiet_levels("key", "later", 9).expect("read"), [(0.5, 1.0)]);
    assert_eq!(rita.quiet_levels("key", "later", 9).expect("read"), []);
    // Each has found out something else about a CPU.
    ben.put_multiplication_cycles("cpu", 7).expect("kept");
    ann.put_multiplication_cycles("cpu", 3).expect("kept");
    owner.put_multiplication_cycles("cpu", 5).expect("kept");
    for (store, cycles) in [(&ann, 3), (&ben, 7), (&owner, 5)] {
        assert_eq!(store.multiplication_cycles("cpu").expect("read"), Some(cycles));
    }
    // An event is accepted by the writer of its run, or the owner of the store.
    ann.accept_event("of-ann/x/worse", "a new kernel", NIGHT).expect("her own");
    let error = ben.accept_event("of-ann/y/worse", "never mind", NIGHT).expect_err("hers");
    assert!(matches!(error, StoreError::OthersRun { .. }), "{error}");
    owner.accept_event("of-ben/x/worse", "a new disk", NIGHT).expect("the owner may");
    ben.accept_event("of-ben/x/worse", "indeed", NIGHT).expect("his own");
    let accepted = rita.accepted_events().expect("read");
    let [worse_of_ann, worse_of_ben] = ["of-ann/x/worse", "of-ben/x/worse"];
    let expected = [(worse_of_ann, "a new kernel"), (worse_of_ben, "indeed")];
    assert_eq!(accepted, super::battery::strings(&expected));
}

/// What each role tries by SQL, for each promise of docs/store.md.
fn statements(server: &Server) {
    let (_, url, name) = new_store(server);
    let [ann, ben, rita] = ["sql-ann", "sql-ben", "sql-rita"];
    roles(server, &[ann, ben, rita, "sql-stan"]);
    let writers = [ann, ben].map(str::to_owned).to_vec();
    let grants = Grants { writers, readers: vec![rita.to_owned()] };
    shared_store::init(&url, &grants).expect("granted");
    for (user, id) in [(ann, "of-ann"), (ben, "of-ben")] {
        let mut store =
            shared_store::open(&server.socket_url(user, &name), Access::Write).expect("opens");
        begin(&mut store, id);
        store.finish_run(id, NIGHT).expect("finished");
        store.add_quiet_level("key", 0.5, 1.0).expect("kept");
        store.put_multiplication_cycles("cpu", 3).expect("kept");
        store.accept_event(&format!("{id}/x/worse"), "known", NIGHT).expect("accepted");
    }
    const TABLES: &str = "runs tags texts packed_rounds packed_results packed_figures points quiet_levels \
         multiplication_cycles accepted_events oscost_migrations";
    let content = || {
        let all = TABLES.split_whitespace().map(|table| {
            server.sql(&name, &format!("SELECT t::text FROM oscost.{table} AS t ORDER BY 1"))
        });
        all.collect::<Vec<String>>()
    };
    let before = content();
    let attempt = |user: &str, sql: &str| {
        let _ = server.try_sql(&name, &format!("SET SESSION AUTHORIZATION \"{user}\"; {sql}"));
        assert_eq!(content(), before, "{user}: {sql}");
    };
    let of_ann = "(SELECT seq FROM oscost.runs WHERE id = 'of-ann')";
    let ben_tries = [
        "UPDATE oscost.runs SET finished = NULL WHERE id = 'of-ann'".to_owned(),
        "UPDATE oscost.runs SET writer = session_user WHERE id = 'of-ann'".to_owned(),
        "UPDATE oscost.runs SET writer = 'sql-ann' WHERE id = 'of-ben'".to_owned(),
        "DELETE FROM oscost.runs WHERE id = 'of-ann'".to_owned(),
        format!("DELETE FROM oscost.packed_rounds WHERE run = {of_ann}"),
        format!("UPDATE oscost.packed_results SET bytes = 0 WHERE run = {of_ann}"),
        format!("UPDATE oscost.points SET median = 0 WHERE run = {of_ann}"),
        format!("INSERT INTO oscost.tags VALUES ({of_ann}, 'kernel', 'his')"),
        format!("UPDATE oscost.packed_rounds SET run = {of_ann}, seq = 99"),
        "INSERT INTO oscost.quiet_levels (key, alu, chase, writer) VALUES ('key', 9, 9, 'sql-ann')"
            .to_owned(),
        "UPDATE oscost.quiet_levels SET alu = 9".to_owned(),
        "DELETE FROM oscost.quiet_levels".to_owned(),
        "INSERT INTO oscost.multiplication_cycles VALUES ('other', 9, 'sql-ann')".to_owned(),
        "UPDATE oscost.multiplication_cycles SET writer = 'sql-ann', cycles = 9".to_owned(),
        "DELETE FROM oscost.multiplication_cycles WHERE writer = 'sql-ann'".to_owned(),
        "INSERT INTO oscost.accepted_events VALUES ('of-ann/y/worse', 'no matter', '')".to_owned(),
        "UPDATE oscost.accepted_events SET id = 'of-ann/z/worse'".to_owned(),
        "DELETE FROM oscost.accepted_events WHERE id LIKE 'of-ann%'".to_owned(),
        "UPDATE oscost.texts SET text = 'x'".to_owned(),
        "DELETE FROM oscost.oscost_migrations".to_owned(),
        "ALTER TABLE oscost.runs DISABLE ROW LEVEL SECURITY".to_owned(),
        "CREATE POLICY more ON oscost.runs USING (true)".to_owned(),
        "TRUNCATE oscost.packed_rounds, oscost.points".to_owned(),
        "CREATE TABLE oscost.more (n INT)".to_owned(),
    ];
    ben_tries.iter().for_each(|sql| attempt(ben, sql));
    for table in TABLES.split_whitespace() {
        for user in [rita, "sql-stan"] {
            attempt(user, &format!("DELETE FROM oscost.{table}"));
            attempt(user, &format!("INSERT INTO oscost.{table} SELECT * FROM oscost.{table}"));
        }
        let read = format!("SELECT count(*) FROM oscost.{table}");
        let read_by = |user: &str| {
            server.try_sql(&name, &format!("SET SESSION AUTHORIZATION \"{user}\"; {read}"))
        };
        read_by(rita).expect("a reader reads all");
        read_by("sql-stan").expect_err("a stranger reads nothing");
    }
    // A writer thins runs of its own only, and the owner all.
    let thin = |url: &str| {
        let mut store = shared_store::open(url, Access::Write).expect("opens");
        store.thin(i64::MAX).expect("thinned").runs
    };
    assert_eq!(thin(&server.socket_url(ben, &name)), 1);
    assert_eq!(thin(&url), 1);
}

fn a_reader_reads_and_a_stranger_does_not(server: &Server) {
    let (mut owner, url, name) = new_store(server);
    roles(server, &["rita", "stan"]);
    let grants = Grants { writers: Vec::new(), readers: vec!["rita".to_owned()] };
    shared_store::init(&url, &grants).expect("granted");
    begin(&mut owner, "a");
    let mut rita =
        shared_store::open(&server.socket_url("rita", &name), Access::Write).expect("opens");
    assert_eq!(rita.rounds("a").expect("readable"), [round(0)]);
    let error = rita.begin_run(&run("b", NIGHT), &machine(), "{}").expect_err("a reader");
    let message = error.to_string();
    assert!(message.contains("permission denied") && message.contains("--writer"), "{message}");
    // With a journal she hears so before anything is measured.
    let folder = tempfile::tempdir().expect("a folder");
    let mut rita = rita.with_journals(folder.path().to_owned(), Default::default());
    let error = rita.begin_run(&run("b", NIGHT), &machine(), "{}").expect_err("a reader");
    assert!(error.to_string().contains("permission denied"), "{error}");
    assert_eq!(rita.unsent().expect("none"), [""; 0]);
    let error = shared_store::open(&server.socket_url("stan", &name), Access::Read);
    let message = error.expect_err("a stranger").to_string();
    assert!(message.contains("permission denied") && message.contains("--reader"), "{message}");
    let missing = Grants { writers: vec!["nobody-there".to_owned()], readers: Vec::new() };
    let message = shared_store::init(&url, &missing).expect_err("no such role").to_string();
    assert!(message.contains("CREATE ROLE"), "{message}");
}

fn opened_for_reading(server: &Server) {
    let (mut owner, url, _) = new_store(server);
    begin(&mut owner, "a");
    let mut store = shared_store::open(&url, Access::Read).expect("opens");
    let error = store.delete_run("a").expect_err("reading only").to_string();
    assert!(error.contains("cannot be written to"), "{error}");
}
