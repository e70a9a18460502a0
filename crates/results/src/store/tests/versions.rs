//! Tests of stores of other builds.

use super::*;

/// Changes a store with a run by `change`; returns the error of opening it, which must leave the file as it is.
fn refused(change: &str) -> String {
    let (_folder, path) = full_store();
    let connection = Connection::open(&path).expect("a store");
    connection.execute_batch(change).expect("changed");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("in the file itself");
    drop(connection);
    // The copy has another path: the header of a path that the process had open is not checked again.
    let other = path.with_file_name("other.sqlite");
    fs::copy(&path, &other).expect("copied");
    let content = fs::read(&other).expect("readable");
    let messages = [&path, &other].map(|path| {
        let [written, read] = [Store::open(path), Store::open_read_only(path)]
            .map(|opened| opened.expect_err(change).to_string());
        assert_eq!(written, read);
        written.replace(&path.display().to_string(), "STORE")
    });
    assert_eq!(messages[0], messages[1]);
    assert_eq!(fs::read(&other).expect("readable"), content);
    messages[0].clone()
}

#[test]
fn a_store_of_another_version_is_refused_with_the_remedy() {
    for version in [3, 99] {
        let error = refused(&format!("PRAGMA user_version = {version}"));
        let words = format!("STORE: a store of version {version}, ");
        assert!(error.starts_with(&words) && error.contains("set OSCOST_STORE"), "{error}");
    }
}

#[test]
fn a_store_of_a_development_build_is_refused_whatever_its_version() {
    for version in 0..3 {
        let mark = format!("PRAGMA application_id = {DEVELOPMENT_ID}");
        let error = refused(&format!("{mark}; PRAGMA user_version = {version}"));
        assert!(error.contains("development build of oscost before 0.1"), "{error}");
        assert!(error.contains("move it away"), "{error}");
    }
}

#[test]
fn a_store_of_the_former_version_is_refused_as_one_of_a_development_build() {
    for version in [0, 1] {
        let error = refused(&format!("PRAGMA user_version = {version}"));
        assert!(error.contains("development build of oscost before 0.1"), "{error}");
        assert!(error.contains("move it away to start a new one"), "{error}");
    }
}

#[test]
fn a_new_store_has_its_marks_in_its_header() {
    let (_folder, path) = full_store();
    let header = fs::read(&path).expect("readable");
    assert_eq!(header[60..64], 2_i32.to_be_bytes(), "user_version");
    assert_eq!(header[68..72], APPLICATION_ID.to_be_bytes());
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
