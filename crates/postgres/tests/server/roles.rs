//! Who may do what.

use results::{CaseResult, Store, StoreError};
use shared_store::{Access, Grants};
use testing::postgres::Server;

use super::battery::{machine, measured, round, run};
use super::unix::new_store;

type Test = (&'static str, fn(&Server));

pub const TESTS: [Test; 3] = [
    ("a_writer_adds_runs_and_changes_its_own_only", a_writer_changes_its_own_runs_only),
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
    // What one has found out about a CPU no other replaces.
    ann.put_multiplication_cycles("cpu", 3).expect("kept");
    ben.put_multiplication_cycles("cpu", 7).expect("kept as it is");
    assert_eq!(owner.multiplication_cycles("cpu").expect("read"), Some(3));
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
