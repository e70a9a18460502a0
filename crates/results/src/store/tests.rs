mod figures;
mod foreign;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flate2::read::ZlibDecoder;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use tempfile::TempDir;

use super::open::{APPLICATION_ID, DEVELOPMENT_ID, connect_immutable};
use super::sqlite::Sqlite;
use super::*;
use crate::document::{CaseResult, Interval, Outcome};
use crate::samples::{
    any_document, document, machine, measured, strings, unfinished_run, unsupported,
};

/// A path for a store in a new folder, which is removed when the first value is dropped.
fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("oscost").join("store.sqlite");
    (folder, path)
}

fn new_store() -> (TempDir, Store) {
    let (folder, path) = place();
    let store = Store::open(&path).expect("a new store");
    (folder, store)
}

/// Another connection to the file of a store.
fn beside(store: &Store) -> Connection {
    Connection::open(store.path()).expect("the file")
}

fn round(seq: u64) -> RoundRow {
    RoundRow {
        seq,
        case: "lock/futex".to_owned(),
        params: strings(&[("workers", "2")]),
        kind: "round".to_owned(),
        outcome: "done".to_owned(),
        started_ms: 1_795_000_000_000 + seq as i64,
        lines: format!("{{\"sample\": {seq}}}\n").repeat(100),
    }
}

fn begin(store: &mut Store, id: &str, started: &str) {
    store.begin_run(&unfinished_run(id, started), &machine(), "{}").expect("a new run");
}

#[test]
fn a_deleted_run_leaves_no_rows() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    store.add_round("a", &round(0)).expect("stored");
    store.put_results("a", &[measured("lock/futex", 20.0)]).expect("put");
    store.delete_run("a").expect("deleted");
    let rows = "SELECT (SELECT count(*) FROM packed_rounds) + (SELECT count(*) FROM packed_results)
                       + (SELECT count(*) FROM tags)";
    assert_eq!(beside(&store).query_row(rows, [], |row| row.get::<_, i64>(0)), Ok(0));
}

#[test]
fn figures_that_cannot_be_true_are_stored_as_failures() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    let mut broken = measured("lock/futex", 20.0);
    broken.quiet_share = Some(f64::NAN);
    store.put_results("a", &[broken, measured("lock/mutex", 30.0)]).expect("put");
    let results = store.document("a").expect("a document").results;
    assert_eq!(results[0].outcome, Outcome::Failed);
    assert_eq!(results[0].estimate, None);
    assert_eq!(results[1], measured("lock/mutex", 30.0));
}

#[test]
fn the_columns_for_sql_say_what_the_document_says() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    store
        .put_results("a", &[measured("lock/futex", 20.5), unsupported("lock/sysv-sem")])
        .expect("put");
    // The sqlite3 shell has this function, for texts that compression made shorter.
    let uncompress = |call: &Context| {
        let mut text = String::new();
        let packed: Vec<u8> = call.get(0)?;
        ZlibDecoder::new(&packed[..]).read_to_string(&mut text).expect("zlib");
        assert_eq!(call.get(1), Ok(text.len() as i64));
        Ok(text.into_bytes())
    };
    let flags = FunctionFlags::default();
    let connection = beside(&store);
    let added = connection.create_scalar_function("sqlar_uncompress", 2, flags, uncompress);
    added.expect("a new function");
    let texts = "SELECT case_name || params || metric || unit || outcome FROM results ORDER BY seq";
    let figures = "SELECT median, low, high FROM results ORDER BY seq";
    let mut texts = connection.prepare(texts).expect("valid SQL");
    let texts = texts.query_map([], |row| row.get(0)).and_then(Iterator::collect);
    let texts: Vec<String> = texts.expect("rows");
    assert_eq!(texts[0], r#"lock/futex{"as":"threads","workers":"2"}timens/opmeasured"#);
    assert_eq!(texts[1], "lock/sysv-sem{}timens/opunsupported");
    let mut figures = connection.prepare(figures).expect("valid SQL");
    let figures = figures.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]));
    let figures: Vec<[Option<f64>; 3]> = figures.and_then(Iterator::collect).expect("rows");
    assert_eq!(figures, [[Some(20.5), Some(19.5), Some(22.5)], [None; 3]]);
}

#[test]
fn runs_are_ordered_by_when_they_came_whatever_the_clock_said() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "third", "2026-11-21T20:36:55.5Z");
    begin(&mut store, "first", "2026-11-21T22:36:54+02:00");
    begin(&mut store, "second", "2026-11-21T20:36:55Z");
    let ids: Vec<String> = store.runs().expect("runs").into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["third", "first", "second"]);
    // A run without a plan is not the one to resume.
    let recorded = unfinished_run("recorded", "2026-11-21T20:37:55Z");
    store.begin_run(&recorded, &machine(), "").expect("begins");
    assert_eq!(store.unfinished().expect("one"), Some("second".to_owned()));
    store.resolve("last").expect_err("no run has results");
    for id in ["first", "third"] {
        store.put_results(id, &[measured("lock/futex", 20.0)]).expect("results");
    }
    assert_eq!(store.resolve("last").expect("a run"), "first");
    assert_eq!(store.resolve("last~1").expect("a run"), "third");
}

#[test]
fn many_candidates_are_cut_short() {
    let candidates: Vec<String> = (0..12).map(|n| format!("run{n}")).collect();
    let error = StoreError::AmbiguousRun { asked: "run".to_owned(), candidates }.to_string();
    assert!(error.contains("run7 and 4 more") && !error.contains("run8"), "{error}");
}

#[test]
fn a_missing_store_is_not_made_by_reading() {
    let (_folder, path) = place();
    let error = Store::open_read_only(&path).expect_err("nothing there").to_string();
    assert!(error.contains("no store exists here") && error.contains("oscost run"), "{error}");
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn a_new_store_is_its_users_own_and_a_known_one_keeps_its_mode() {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt;

    let (_folder, path) = place();
    let modes = || -> BTreeSet<u32> {
        let files = fs::read_dir(path.parent().expect("a folder")).expect("listed").flatten();
        files.map(|file| file.metadata().expect("there").permissions().mode() & 0o777).collect()
    };
    let mut store = Store::open(&path).expect("made");
    store.add_quiet_level("key", 0.5, 1.0).expect("kept");
    assert_eq!(modes(), BTreeSet::from([0o600]), "the store and what SQLite has beside it");
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
    let _store = Store::open(&path).expect("opened");
    assert_eq!(modes(), BTreeSet::from([0o640]));
}

#[test]
fn files_of_other_programs_are_rejected_and_unchanged() {
    let (folder, _) = place();
    let foreign = folder.path().join("foreign.sqlite");
    let tables = "PRAGMA journal_mode = WAL; CREATE TABLE photos (id INTEGER)";
    let made = Connection::open(&foreign).and_then(|database| database.execute_batch(tables));
    made.expect("somebody's database");
    let files = [
        ("notes.txt", b"dear diary".to_vec()),
        ("short", b"SQLite format 3\0".to_vec()),
        ("noise", vec![7; 9000]),
    ];
    for (name, content) in &files {
        fs::write(folder.path().join(name), content).expect("written");
    }
    for name in ["foreign.sqlite", "notes.txt", "short", "noise"] {
        let path = folder.path().join(name);
        let before = fs::read(&path).expect("readable");
        for result in [Store::open(&path), Store::open_read_only(&path)] {
            let error = result.expect_err(name).to_string();
            assert!(error.contains("not an oscost store") && error.contains(name), "{error}");
        }
        assert_eq!(fs::read(&path).expect("readable"), before, "{name}");
    }
    let names = fs::read_dir(folder.path()).expect("listed").count();
    assert_eq!(names, 4, "nothing was put beside them");
}

#[test]
fn a_folder_in_the_way_is_named() {
    let (folder, _) = place();
    let error = Store::open(folder.path()).expect_err("a folder").to_string();
    assert!(error.contains("a folder, not a file"), "{error}");
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("written");
    let deeper = file.join("deeper/store.sqlite");
    let error = Store::open(&deeper).expect_err("no folder").to_string();
    assert!(error.contains("part of the path is a file"), "{error}");
}

#[test]
fn an_empty_file_becomes_a_store_but_is_none_yet() {
    let (folder, _) = place();
    let path = folder.path().join("empty");
    fs::write(&path, "").expect("written");
    let error = Store::open_read_only(&path).expect_err("empty").to_string();
    assert!(error.contains("the file is empty"), "{error}");
    Store::open(&path).expect("made");
    assert_eq!(Store::open_read_only(&path).expect("a store").runs().expect("runs"), []);
}

/// A store of several pages, closed.
fn full_store() -> (TempDir, PathBuf) {
    let (folder, mut store) = new_store();
    store.import(&document()).expect("added");
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    for seq in 0..200 {
        store.add_round("a", &round(seq)).expect("stored");
    }
    let path = store.path().to_owned();
    (folder, path)
}

/// Reads all data; returns the first error, if any.
fn read_all(store: &Store) -> Result<(), StoreError> {
    for run in store.runs()? {
        store.document(&run.id)?;
        store.rounds(&run.id)?;
    }
    Ok(())
}

#[test]
fn a_store_that_is_cut_short_is_reported_as_damaged() {
    let (_folder, path) = full_store();
    let whole = fs::read(&path).expect("readable");
    // Each file has another path: the header of a path that the process had open is not checked again.
    for (index, bytes) in [200, 4096, 3 * 4096, whole.len() - 4096].into_iter().enumerate() {
        let cut = path.with_file_name(format!("cut{index}.sqlite"));
        fs::write(&cut, &whole[..bytes]).expect("written");
        for opened in [Store::open(&cut), Store::open_read_only(&cut)] {
            let error =
                opened.and_then(|store| read_all(&store)).expect_err("cut short").to_string();
            assert!(error.contains("damaged; move it away"), "{bytes}: {error}");
            assert!(error.contains("cut") && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_stored_value_that_does_not_read_back_is_named() {
    let (_folder, path) = full_store();
    let store = Store::open(&path).expect("a store");
    let change = |sql: &str| beside(&store).execute_batch(sql).expect("changed");
    change("UPDATE packed_rounds SET lines = x'00ff00ff' WHERE seq = 7");
    let error = store.rounds("a").expect_err("no zlib").to_string();
    assert!(error.contains("damaged: round 7 of run a: "), "{error}");
    let id = document().run.id;
    for body in ["x'00ff00ff'", "substr(body, 1, 100)", "zeroblob(bytes)", "x''"] {
        change("CREATE TABLE whole AS SELECT * FROM packed_results");
        change(&format!("UPDATE packed_results SET body = {body}"));
        let error = store.document(&id).expect_err(body).to_string();
        assert!(error.contains(&format!("damaged: results of run {id}: ")), "{error}");
        change("REPLACE INTO packed_results SELECT * FROM whole; DROP TABLE whole");
    }
    store.document(&id).expect("whole again");
    change("UPDATE runs SET asked = '[]' WHERE id = 'a'");
    let error = store.runs().expect_err("no object").to_string();
    assert!(error.contains("damaged: asked of run a: "), "{error}");
    change("UPDATE runs SET seed = '-1' WHERE id = 'a'");
    let error = store.document("a").expect_err("no seed").to_string();
    assert!(error.contains("damaged: seed \"-1\" of run a"), "{error}");
}

#[test]
fn garbage_within_the_file_never_panics() {
    let (_folder, path) = full_store();
    let whole = fs::read(&path).expect("readable");
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..][..4096].fill(0xa5);
        let spoiled = path.with_file_name(format!("spoiled{page}.sqlite"));
        fs::write(&spoiled, &bytes).expect("written");
        let read = Store::open_read_only(&spoiled).and_then(|store| read_all(&store));
        if let Err(error) = read {
            assert!(error.to_string().contains("damaged"), "{error}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_can_be_read_from() {
    let (_folder, path) = full_store();
    let folder = path.parent().expect("a folder");
    let mut permissions = fs::metadata(folder).expect("there").permissions();
    let writable = permissions.clone();
    permissions.set_readonly(true);
    fs::set_permissions(folder, permissions).expect("set");
    let read = Store::open_read_only(&path).and_then(|store| read_all(&store));
    fs::set_permissions(folder, writable).expect("set back");
    read.expect("readable");
}

#[test]
fn the_file_alone_can_be_read_unless_newer_runs_are_beside_it() {
    let (folder, _) = place();
    // These characters have a meaning in URIs; Windows allows no question mark in a name.
    let name = if cfg!(windows) { "50% off #1 ü.sqlite" } else { "50% off? #1 ü.sqlite" };
    let path = folder.path().join(name);
    let mut store = Store::open(&path).expect("a new store");
    store.import(&document()).expect("added");
    let error = connect_immutable(&path).expect_err("in the log").to_string();
    assert!(error.contains("-wal"), "{error}");
    drop(store);
    let connection = connect_immutable(&path).expect("all in the file now");
    let store = Store::over(path.clone(), Box::new(Sqlite::new(&path, connection)));
    assert_eq!(store.document(&document().run.id).expect("there"), document());
}

#[test]
fn a_store_opened_for_reading_cannot_be_written_to() {
    let (_folder, path) = full_store();
    let mut store = Store::open_read_only(&path).expect("a store");
    let error = store.delete_run("a").expect_err("reading only").to_string();
    assert!(error.contains("cannot be written to"), "{error}");
}

#[test]
fn two_runs_are_written_at_once_while_others_read() {
    const ROUNDS: u64 = 60;
    let (_folder, path) = place();
    drop(Store::open(&path).expect("a new store"));
    let writing = AtomicBool::new(true);
    let write = |id: &'static str| {
        let mut store = Store::open(&path).expect("opens");
        begin(&mut store, id, "2026-11-21T20:36:55Z");
        for seq in 0..ROUNDS {
            store.add_round(id, &round(seq)).expect("stored");
            store.put_results(id, &[measured("lock/futex", seq as f64)]).expect("put");
        }
        store.finish_run(id, "2026-11-21T20:37:55Z").expect("finished");
    };
    let read = || {
        let store = Store::open_read_only(&path).expect("opens");
        let mut known = 0;
        while writing.load(Ordering::Acquire) {
            let runs = store.runs().expect("runs");
            let rounds = runs.iter().map(|run| run.rounds).sum();
            assert!(known <= rounds, "a round was there and is gone");
            known = rounds;
            for run in runs {
                assert!(store.document(&run.id).expect("whole").results.len() <= 1);
                let rounds = store.rounds(&run.id).expect("rounds");
                assert!(rounds.iter().zip(0..).all(|(found, seq)| *found == round(seq)));
            }
        }
    };
    thread::scope(|scope| {
        let writers = [scope.spawn(|| write("a")), scope.spawn(|| write("b"))];
        let readers = [scope.spawn(read), scope.spawn(read)];
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        writing.store(false, Ordering::Release);
        assert!(written.iter().all(Result::is_ok));
        assert!(readers.into_iter().all(|reader| reader.join().is_ok()));
    });
    let store = Store::open_read_only(&path).expect("opens");
    for id in ["a", "b"] {
        assert_eq!(store.rounds(id).expect("rounds").len() as u64, ROUNDS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stored_document_reads_back_equal(document in any_document()) {
        let (_folder, mut store) = new_store();
        prop_assert_eq!(store.import(&document).expect("added"), Imported::Added);
        prop_assert_eq!(store.document(&document.run.id).expect("there"), document.clone());
        prop_assert_eq!(store.import(&document).expect("the same"), Imported::AlreadyThere);
    }

    #[test]
    fn a_stored_round_reads_back_equal(
        lines in "(?s).{0,300}",
        started_ms in any::<i64>(),
        seq in 0..=i64::MAX as u64,
        outcome in "(?s).{0,10}",
    ) {
        let (_folder, mut store) = new_store();
        begin(&mut store, "a", "2026-11-21T20:36:55Z");
        let row = RoundRow { lines, started_ms, outcome, kind: "count".to_owned(), ..round(seq) };
        store.add_round("a", &row).expect("stored");
        prop_assert_eq!(store.rounds("a").expect("rounds"), vec![row]);
    }
}
