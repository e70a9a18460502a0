//! Opens or creates the file of a store; rejects files of other programs and versions without modifying them.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use platform::file::access::{close_to_others, try_lock};
use platform::file::private::sync_directory;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::error::{BUSY_TIMEOUT, StoreError};

/// SQLite's application id, "osco", at byte 68 of the file: <https://www.sqlite.org/fileformat.html>.
pub(super) const APPLICATION_ID: i32 = 0x6f73_636f;
/// The application id of stores by development builds, "oscs".
pub(super) const DEVELOPMENT_ID: i32 = 0x6f73_6373;

/// The version of the tables (PRAGMA user_version).
const VERSION: i64 = 2;
const TABLES: &str = include_str!("tables.sql");
const ADDED_TABLES: &str = include_str!("added_tables.sql");
/// One of the added tables, all of which are created together.
pub(super) const ADDED_TABLE: &str = "packed_figures";

/// The stores that this process has opened.
///
/// The header of a file is read only before SQLite opens it for the first time: closing a second descriptor of a file drops
/// the POSIX locks this process holds on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How an SQLite file begins.
const FORMAT: &[u8] = b"SQLite format 3\0";

/// The modes that earlier builds gave a new store, with the umasks 022 and 002. Another mode was chosen by the user.
const FORMER_MODES: [u32; 2] = [0o644, 0o664];

/// The longest text or blob of a store, in bytes: twice the output of a round, which is compressed.
const LONGEST_BYTES: i32 = 128 << 20;

/// Opens for reading and writing; creates the file and the folders above it. Also says whether other users could read the file
/// until now.
pub(super) fn for_writing(path: &Path) -> Result<(Connection, bool), StoreError> {
    let folder = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let own = folder(path);
    let was_there = own.ancestors().find(|folder| folder.exists()).map(Path::to_owned);
    fs::create_dir_all(&own).map_err(|error| StoreError::io(&own, error))?;
    let opened = opened_after(path, &|| peek_for_writing(path), &|| connect_for_writing(path))?;
    // What is stored from now on outlives a power cut only if the names of the file and its log do.
    let made = own.ancestors().take_while(|folder| Some(*folder) != was_there.as_deref());
    for folder in made.map(folder).chain([own.clone()]) {
        sync_directory(&folder).map_err(|error| StoreError::io(&folder, error))?;
    }
    Ok(opened)
}

/// Opens for reading only.
pub(super) fn for_reading(path: &Path) -> Result<Connection, StoreError> {
    let connect = || match connect_for_reading(path) {
        Err(StoreError::Sqlite { error, .. }) if needs_writable_folder(&error) => {
            connect_immutable(path)
        }
        other => other,
    };
    Ok(opened_after(path, &|| peek_for_reading(path), &connect)?.0)
}

/// Connects, after a peek if this process has not opened the file yet; also returns what the peek did.
fn opened_after(
    path: &Path,
    peek: &dyn Fn() -> Result<bool, StoreError>,
    connect: &dyn Fn() -> Result<Connection, StoreError>,
) -> Result<(Connection, bool), StoreError> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = fs::canonicalize(path).is_ok_and(|path| opened.contains(&path));
    let peeked = if known { false } else { peek()? };
    let connection = connect()?;
    opened.extend(fs::canonicalize(path));
    Ok((connection, peeked))
}

/// A new file is the user's own: documents say much of a machine. SQLite gives its further files the same mode.
#[cfg(unix)]
fn for_its_user(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

/// Elsewhere the folder's rights are inherited.
#[cfg(not(unix))]
fn for_its_user(_options: &mut OpenOptions) {}

fn peek_for_writing(path: &Path) -> Result<bool, StoreError> {
    let mut options = OpenOptions::new();
    // The file is not truncated: it may be a store, or another program's.
    options.read(true).write(true).create(true).truncate(false);
    for_its_user(&mut options);
    let file = options.open(path).map_err(|error| unopened(path, error))?;
    let header = header(&file).map_err(|error| StoreError::io(path, error))?;
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        File::open(name)
    };
    // A power cut while the tables were created leaves any part of them, and a journal by which SQLite removes it.
    let is_half_made = || !header.starts_with(FORMAT) && beside("-journal").is_ok();
    if !header.is_empty() && !is_half_made() {
        check_header(path, &header)?;
    }
    check_locks(path, &file)?;
    // SQLite's further files have the mode that the store had when they were made.
    let further = ["-wal", "-shm"].map(beside);
    let files = [&file].into_iter().chain(further.iter().flatten());
    let mut was_open = false;
    for file in files {
        was_open |=
            close_to_others(file, &FORMER_MODES).map_err(|error| StoreError::io(path, error))?;
    }
    Ok(was_open)
}

fn peek_for_reading(path: &Path) -> Result<bool, StoreError> {
    let file = File::open(path).map_err(|error| unopened(path, error))?;
    let header = header(&file).map_err(|error| StoreError::io(path, error))?;
    check_header(path, &header)?;
    check_locks(path, &file)?;
    Ok(false)
}

/// Checks that the file can be locked. SQLite takes some causes why it cannot, such as ENOLCK, for another process that holds a
/// lock, and waits in vain.
fn check_locks(path: &Path, file: &File) -> Result<(), StoreError> {
    match try_lock(file) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
            Err(StoreError::Unlockable { path: path.to_owned(), error })
        }
        _ => Ok(()),
    }
}

fn unopened(path: &Path, error: io::Error) -> StoreError {
    if error.kind() == io::ErrorKind::NotFound {
        return StoreError::Missing { path: path.to_owned() };
    }
    // Windows reports "access denied" for a folder.
    if path.is_dir() {
        return StoreError::io(path, io::ErrorKind::IsADirectory.into());
    }
    StoreError::io(path, error)
}

fn header(file: &File) -> io::Result<Vec<u8>> {
    const HEADER_BYTES: u64 = 100;
    let mut header = Vec::new();
    file.take(HEADER_BYTES).read_to_end(&mut header)?;
    Ok(header)
}

fn check_header(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let what = match header.get(68..72) {
        _ if header.is_empty() => "the file is empty",
        _ if !header.starts_with(FORMAT) => "not an SQLite file",
        Some(id) => {
            let id = i32::from_be_bytes(id.try_into().expect("4 bytes"));
            return check_application(path, id);
        }
        None => "cut short",
    };
    Err(StoreError::NotAStore { path: path.to_owned(), what })
}

fn connect_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    believe_little(&connection).map_err(failed)?;
    create_tables(&mut connection, path)?;
    use_wal(&connection).map_err(failed)?;
    set_durable(&connection, true).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    Ok(connection)
}

/// Prepares a connection to a file that may come from anybody: its schema can call no function that does harm, change nothing by
/// itself, and its lengths are limited. See <https://www.sqlite.org/security.html>.
fn believe_little(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_BYTES)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Chooses whether what is committed from now on survives a power cut. Otherwise a power cut loses the last transactions, until a
/// later one that does survive; a kill loses nothing in either case.
pub(super) fn set_durable(connection: &Connection, is_durable: bool) -> rusqlite::Result<()> {
    let level = if is_durable { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", level)
}

fn check_application(path: &Path, id: i32) -> Result<(), StoreError> {
    match id {
        APPLICATION_ID => Ok(()),
        DEVELOPMENT_ID => Err(StoreError::Development { path: path.to_owned() }),
        _ => {
            let what = "another program's SQLite file";
            Err(StoreError::NotAStore { path: path.to_owned(), what })
        }
    }
}

/// Creates the tables in an empty file, and those that the store lacks, in one transaction.
fn create_tables(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    if has_tables(connection, path)? && has_added_tables(connection).map_err(failed)? {
        return Ok(());
    }
    let transaction =
        Transaction::new(connection, TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have created the tables while this one waited.
    if !has_tables(&transaction, path)? {
        transaction.execute_batch(TABLES).map_err(failed)?;
    }
    transaction.execute_batch(ADDED_TABLES).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Whether the store has the tables that those of earlier builds lack.
pub(super) fn has_added_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.table_exists(None, ADDED_TABLE)
}

/// Whether the file has this version's tables; false for an empty file.
fn has_tables(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let sql = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema), (
                   SELECT count(*) FROM sqlite_schema
                   WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%'
                         OR (type = 'view' AND lower(name) IN (
                                'runs', 'tags', 'texts', 'packed_rounds', 'packed_results', 'packed_figures',
                                'quiet_levels', 'multiplication_cycles', 'accepted_events'))
               ) FROM pragma_user_version, pragma_application_id";
    let (found, application, objects, foreign): (i64, i32, i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .map_err(|error| StoreError::sqlite(path, error))?;
    if (found, application, objects) == (0, 0, 0) {
        return Ok(false);
    }
    check_application(path, application)?;
    if foreign > 0 {
        // A view in the place of a table may have rows without end.
        let what = "it has triggers, or views in place of tables, which no oscost made";
        return Err(StoreError::NotAStore { path: path.to_owned(), what });
    }
    match found {
        VERSION => Ok(true),
        ..VERSION => Err(StoreError::Development { path: path.to_owned() }),
        _ => Err(StoreError::OtherVersion { path: path.to_owned(), found, known: VERSION }),
    }
}

/// Switches to write-ahead logging, and waits for other processes, which SQLite does not do here.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn connect_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| StoreError::sqlite(path, error))?;
    readable(connection, path)
}

/// Opens the file as immutable, for a folder in which SQLite may not create the files that it shares with writers.
pub(super) fn connect_immutable(path: &Path) -> Result<Connection, StoreError> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    if fs::metadata(wal).is_ok_and(|wal| wal.len() > 0) {
        return Err(StoreError::WalUnreadable { path: path.to_owned() });
    }
    let uri = immutable_uri(path).map_err(|error| StoreError::io(path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection =
        Connection::open_with_flags(uri, flags).map_err(|error| StoreError::sqlite(path, error))?;
    readable(connection, path)
}

fn readable(connection: Connection, path: &Path) -> Result<Connection, StoreError> {
    believe_little(&connection).map_err(|error| StoreError::sqlite(path, error))?;
    match has_tables(&connection, path)? {
        true => Ok(connection),
        false => Err(StoreError::NotAStore { path: path.to_owned(), what: "it has no tables" }),
    }
}

/// Whether SQLite could not create the files that readers share with writers: the folder is read-only, or the disk is full.
fn needs_writable_folder(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE};
    const SHARED: [std::ffi::c_int; 3] =
        [SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE];
    let is_of_shared = error.sqlite_error().is_some_and(|e| SHARED.contains(&e.extended_code));
    let code = error.sqlite_error_code();
    is_of_shared
        || matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull))
}

/// The URI of an immutable file: the path percent-encoded, with `/` between folders on every system. See
/// <https://www.sqlite.org/uri.html>.
fn immutable_uri(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    let mut uri = String::from("file://");
    for (index, &byte) in path.as_os_str().as_encoded_bytes().iter().enumerate() {
        let byte = if std::path::MAIN_SEPARATOR as u8 == byte { b'/' } else { byte };
        if index == 0 && byte != b'/' {
            uri.push('/');
        }
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(byte as char)
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}
