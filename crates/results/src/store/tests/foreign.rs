//! Tests of stores that somebody else made, or can read, and of file systems without locks.

use super::*;

/// A closed store that `change` has changed as its maker likes; it has another path than any that this process has opened.
fn changed(change: &str) -> (TempDir, PathBuf) {
    let (folder, path) = full_store();
    let connection = Connection::open(&path).expect("a store");
    connection.execute_batch(change).expect("changed");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("in the file itself");
    drop(connection);
    let foreign = path.with_file_name("foreign.sqlite");
    fs::rename(&path, &foreign).expect("moved");
    (folder, foreign)
}

#[test]
fn a_store_that_acts_by_itself_is_refused() {
    for change in [
        "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM packed_rounds; END",
        "DROP VIEW rounds; ALTER TABLE packed_rounds RENAME TO kept; CREATE VIEW Packed_Rounds AS SELECT * FROM kept",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema
         VALUES ('table', 'words', 'words', 0, 'CREATE VIRTUAL TABLE words USING fts5(text)')",
    ] {
        let (_folder, path) = changed(change);
        for opened in [Store::open(&path), Store::open_read_only(&path)] {
            let error = opened.expect_err(change).to_string();
            assert!(error.contains("no oscost made"), "{change}: {error}");
        }
    }
}

/// A view that users of SQL have may be anything: it is not read.
#[test]
fn the_views_of_a_store_are_not_read() {
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS run FROM n";
    let (_folder, path) = changed(&format!("DROP VIEW rounds; CREATE VIEW rounds AS {endless}"));
    let store = Store::open_read_only(&path).expect("a store");
    assert_eq!(store.rounds("a").expect("rounds").len(), 200);
}

#[test]
fn a_connection_believes_no_schema_and_writes_durably() {
    let (_folder, path) = place();
    let (writing, _) = super::super::open::for_writing(&path).expect("a new store");
    let reading = super::super::open::for_reading(&path).expect("a store");
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).expect(name)
    };
    for connection in [&writing, &reading] {
        let set = ["trusted_schema", "cell_size_check"].map(|name| pragma(connection, name));
        assert_eq!(set, [0, 1]);
        connection.execute_batch("SELECT zeroblob(500000000)").expect_err("too long");
    }
    // Otherwise a schema could be written by hand.
    let by_hand = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ''";
    writing.execute_batch(by_hand).expect_err("defensive");
    const FULL: i64 = 2;
    assert_eq!(pragma(&writing, "synchronous"), FULL);
}

/// Packs a text as a hostile store has it, with the length that it pretends.
fn put_results(path: &Path, text: &[u8], bytes: usize) {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).expect("in memory");
    let body = encoder.finish().expect("in memory");
    let connection = Connection::open(path).expect("a store");
    let sql = "UPDATE packed_results SET bytes = ?1, body = ?2";
    connection.execute(sql, (bytes as i64, body)).expect("changed");
}

#[test]
fn lengths_that_a_store_pretends_are_not_believed() {
    let (_folder, store) = new_store();
    let path = store.path().to_owned();
    let mut store = store;
    store.import(&document()).expect("added");
    let id = document().run.id;
    let refused = |text: &[u8], bytes: usize, why: &str| {
        put_results(&path, text, bytes);
        let error = store.document(&id).expect_err(why).to_string();
        assert!(error.contains("damaged") && error.contains(why), "{error}");
    };
    refused(b"[]", 1 << 40, "more than 256 MiB");
    refused(b"[]", 3, "not of 3 bytes");
    refused(b"[]", 20 << 20, "not of 20971520 bytes");
    let zeros = |count: usize| "0,".repeat(count) + "0";
    let result = |values: &str| format!("[{{\"round_values\": [{values}]}}]");
    let long = result(&zeros(100_001));
    refused(long.as_bytes(), long.len(), "\"round_values\" has more than 100000 elements");
    let wide = format!("[{{\"doubts\": [{}]}}]", vec![format!("[{}]", zeros(90_000)); 6].join(","));
    refused(wide.as_bytes(), wide.len(), "a result has more than 500000 values");
    let many = format!("[{}]", vec!["{}"; 100_001].join(","));
    refused(many.as_bytes(), many.len(), "elements");
    let text = format!("[{{\"reason\": \"{}\"}}]", "x".repeat(1 << 20));
    refused(text.as_bytes(), text.len(), "\"reason\" has more than 262144 bytes");
    let texts = format!(
        "[{}]",
        vec!["{}"; 99_000].join(",")
            + &format!(",{{\"reason\": \"{}\"}}", "x".repeat(200_000)).repeat(200)
    );
    refused(texts.as_bytes(), texts.len(), "more than 112 MiB");
    // What a run of all points has is far below.
    let mut whole = document();
    whole.results = (0..6_000)
        .map(|n| CaseResult {
            round_values: vec![20.5; 60],
            round_starts_ms: Vec::new(),
            ..measured(&format!("lock/futex-{n}"), 20.5)
        })
        .collect();
    whole.run.id = "whole".to_owned();
    store.import(&whole).expect("added");
    assert_eq!(store.document("whole").expect("there"), whole);
}

#[test]
fn facts_of_a_store_are_no_longer_than_those_of_a_document() {
    let (_folder, path) = changed(
        "UPDATE runs SET machine = '{\"cpu\": [0' || replace(hex(zeroblob(3000000)), '00', ',0,0') || ']}' WHERE id = 'a'",
    );
    let store = Store::open_read_only(&path).expect("a store");
    let error = store.document("a").expect_err("too long").to_string();
    assert!(error.contains("machine of run a has 12") && error.contains("8 MiB"), "{error}");
}

#[test]
fn rounds_that_unpack_to_much_are_refused() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "a", "2026-11-21T20:36:55Z");
    let much = RoundRow { lines: "x".repeat(30 << 20), ..round(0) };
    store.add_round("a", &much).expect("stored");
    assert_eq!(store.rounds("a").expect("one such round"), [much]);
    beside(&store)
        .execute_batch(
            "WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9)
             INSERT INTO packed_rounds
             SELECT run, x, case_name, params, kind, outcome, started_ms, crc32, lines FROM packed_rounds, n",
        )
        .expect("more of it");
    let error = store.rounds("a").expect_err("too much").to_string();
    assert!(error.contains("the rounds of run a are longer than"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_store_as_earlier_builds_made_it_is_closed_to_others_once() {
    use std::os::unix::fs::PermissionsExt;

    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    for (before, after) in [(0o644, 0o600), (0o664, 0o600), (0o640, 0o640), (0o604, 0o604)] {
        let (_folder, made) = full_store();
        let path = made.with_file_name("moved.sqlite");
        fs::rename(&made, &path).expect("moved");
        set(&path, before);
        assert!(!Store::open_read_only(&path).expect("a store").was_open_to_others());
        assert_eq!(mode(&path), before, "reading changes nothing");
        // The header of a path that the process has open is not looked at again.
        let path = made.with_file_name("again.sqlite");
        fs::rename(made.with_file_name("moved.sqlite"), &path).expect("moved");
        let wal = made.with_file_name("again.sqlite-wal");
        fs::write(&wal, "").expect("as a kill leaves it");
        set(&wal, before);
        let store = Store::open(&path).expect("a store");
        assert_eq!((store.was_open_to_others(), mode(&path)), (before != after, after));
        assert_eq!(mode(&wal), after);
        assert!(!Store::open(&path).expect("a store").was_open_to_others());
    }
}

/// A file system without locks: a filter of this thread's system calls denies them, as NFS does without its lock service.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_without_locks_is_named() {
    let (_folder, path) = full_store();
    // The header of a path that the process has open is not looked at again.
    let path = {
        let other = path.with_file_name("other.sqlite");
        fs::rename(&path, &other).expect("moved");
        other
    };
    let messages = thread::spawn(move || {
        deny_locks();
        [Store::open(&path).err(), Store::open_read_only(&path).err()]
            .map(|error| error.expect("no locks").to_string())
    });
    for message in messages.join().expect("no panic") {
        let words = ["does not lock files (No locks available", "NFS", "OSCOST_STORE"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

/// Makes F_SETLK fail with ENOLCK in this thread (Linux, Documentation/userspace-api/seccomp_filter.rst).
#[cfg(target_os = "linux")]
fn deny_locks() {
    let load = |offset: usize| (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset as u32);
    let unless =
        |value: u32, skipped: u8| (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skipped, value);
    let end = |value: u32| (libc::BPF_RET | libc::BPF_K, 0, 0, value);
    let second = std::mem::offset_of!(libc::seccomp_data, args) + size_of::<u64>();
    let program = [
        load(std::mem::offset_of!(libc::seccomp_data, nr)),
        unless(libc::SYS_fcntl as u32, 3),
        load(second + if cfg!(target_endian = "big") { 4 } else { 0 }),
        unless(libc::F_SETLK as u32, 1),
        end(libc::SECCOMP_RET_ERRNO | libc::ENOLCK as u32),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let mut filter: Vec<libc::sock_filter> = program
        .map(|(code, jt, jf, k)| libc::sock_filter { code: code as u16, jt, jf, k })
        .to_vec();
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: prctl reads the program, which lives until it returns; both settings are this thread's alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}
