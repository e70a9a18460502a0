//! Stores of older and newer builds.

use super::*;

#[test]
fn a_newer_store_is_refused() {
    let (_folder, path) = place();
    let mut store = Store::open(&path).expect("a new store");
    store.import(&document()).expect("added");
    store.connection.pragma_update(None, "user_version", 99).expect("set");
    drop(store);
    for result in [Store::open(&path), Store::open_read_only(&path)] {
        let error = result.expect_err("newer").to_string();
        assert!(
            error.contains("made by a newer oscost: store version 99, this build knows 2"),
            "{error}"
        );
    }
}

#[test]
fn an_older_store_is_migrated_with_what_it_holds() {
    let (_folder, path) = place();
    let mut store = Store::open(&path).expect("a new store");
    store.import(&document()).expect("added");
    let note = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''";
    let later: Vec<&str> = MIGRATIONS.iter().copied().chain([note]).collect();
    migrate(&mut store.connection, &path, &later).expect("migrated");
    migrate(&mut store.connection, &path, &later).expect("nothing left to do");
    let version =
        store
            .connection
            .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0));
    assert_eq!(version, Ok(3));
    let note =
        store.connection.query_row("SELECT note FROM runs", [], |row| row.get::<_, String>(0));
    assert_eq!(note, Ok(String::new()));
    assert_eq!(store.document(&document().run.id).expect("kept"), document());
}

#[test]
fn a_migration_that_fails_leaves_the_store_as_it_was() {
    let (_folder, path) = place();
    let mut store = Store::open(&path).expect("a new store");
    store.import(&document()).expect("added");
    let broken = "DROP TABLE results; CREATE TABLE runs (x)";
    let broken: Vec<&str> = MIGRATIONS.iter().copied().chain([broken]).collect();
    migrate(&mut store.connection, &path, &broken).expect_err("runs is there already");
    drop(store);
    let store = Store::open(&path).expect("still the version it was");
    assert_eq!(store.document(&document().run.id).expect("kept"), document());
}

/// A store made by oscost before schema 2, and its run as that oscost exported it.
fn store_of_version_1() -> (TempDir, PathBuf, crate::Document) {
    let (folder, path) = place();
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let packed: &[u8] = include_bytes!("../../../tests/fixtures/schema-1.sqlite.gz");
    let mut file = fs::File::create(&path).expect("a file");
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut file).expect("unpacked");
    let exported = include_str!("../../../tests/fixtures/schema-1.json");
    (folder, path, crate::parse_document(exported).expect("schema 1"))
}

#[test]
fn a_store_of_version_1_is_read_as_it_is_and_migrated_when_written_to() {
    let (_folder, path, exported) = store_of_version_1();
    let version = |store: &Store| -> i64 {
        let sql = "SELECT user_version FROM pragma_user_version";
        store.connection.query_row(sql, [], |row| row.get(0)).expect("a version")
    };
    let store = Store::open_read_only(&path).expect("readable");
    assert_eq!(store.document(&exported.run.id).expect("kept"), exported);
    assert_eq!((version(&store), store.runs().expect("runs").len()), (1, 1));
    drop(store);
    let mut store = Store::open(&path).expect("migrated");
    assert_eq!(version(&store), 2);
    assert_eq!(store.document(&exported.run.id).expect("kept"), exported);
    assert_eq!(store.rounds(&exported.run.id).expect("kept").len(), 3);
    let clock = Interval { low: 3.0, median: 3.5, high: 3.6 };
    store.put_run_facts(&exported.run.id, Some(clock), &BTreeMap::new()).expect("put");
    let run = store.document(&exported.run.id).expect("there").run;
    assert_eq!(run.core_clock_ghz, Some(clock));
}

#[test]
fn run_facts_are_kept_and_wrong_ones_refused() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    let facts = |store: &Store| {
        let run = store.document("a").expect("there").run;
        (run.core_clock_ghz, run.area_seconds)
    };
    assert_eq!(facts(&store), (None, BTreeMap::new()));
    let clock = Interval { low: 3.35, median: 3.75, high: 3.85 };
    let seconds = BTreeMap::from([("lock".to_owned(), 20.5)]);
    store.put_run_facts("a", Some(clock), &seconds).expect("put");
    assert_eq!(facts(&store), (Some(clock), seconds.clone()));
    let wrong = Interval { low: 3.8, ..clock };
    let error = store.put_run_facts("a", Some(wrong), &seconds).expect_err("not ascending");
    assert!(error.to_string().contains("median 3.75 is below low 3.8"), "{error}");
    let negative = BTreeMap::from([("lock".to_owned(), -1.0)]);
    store.put_run_facts("a", Some(clock), &negative).expect_err("negative");
    assert_eq!(facts(&store), (Some(clock), seconds.clone()));
    store.put_run_facts("a", None, &BTreeMap::new()).expect("put");
    assert_eq!(facts(&store), (None, BTreeMap::new()));
    let error = store.put_run_facts("b", None, &seconds).expect_err("no such run");
    assert!(matches!(error, StoreError::UnknownRun { .. }), "{error}");
}

#[test]
fn a_store_an_older_build_made_is_not_migrated_by_reading() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let connection = Connection::open(&path).expect("a file");
    connection.pragma_update(None, "application_id", APPLICATION_ID).expect("set");
    drop(connection);
    let error = Store::open_read_only(&path).expect_err("version 0").to_string();
    assert!(
        error.contains("made by an older oscost: store version 0, this build reads 2"),
        "{error}"
    );
}
