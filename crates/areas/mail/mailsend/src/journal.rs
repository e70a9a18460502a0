//! The journal records the results of each recipient at once, so that a killed delivery can be resumed. It is a SQLite
//! database with one row per event.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use strum::FromRepr;
use thiserror::Error;

/// The version of the database's layout; other versions are not read.
const SCHEMA: &str = "1";
/// Number of pages of the write-ahead log at which SQLite makes a checkpoint, which waits for the disk.
const LOG_PAGES: u32 = 10_000;
/// Maximum wait for another process that still has the journal open.
const FREE_WITHIN: Duration = Duration::from_secs(2);

/// The identity of a delivery. A resumed delivery must have the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The list's fingerprint.
    pub list: String,
    /// The message's fingerprint, with all options that change it.
    pub message: String,
    /// The return path as the user gave it.
    pub from: String,
    /// Whether the delivery is a test, in which no message is sent.
    pub dry: bool,
}

/// The kind of an event of a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub enum EventKind {
    /// The message is about to be sent. If this is the last event, it is unknown whether the message was sent.
    Sending = 0,
    /// A server has accepted the message.
    Delivered = 1,
    /// A temporary failure; the recipient is retried.
    Deferred = 2,
    /// A server may have accepted the message; the recipient is retried, and may get it twice.
    Uncertain = 3,
    /// A permanent failure.
    Failed = 4,
    /// The retry period has ended.
    GivenUp = 5,
    /// A server refused or lost a connection. No attempt for the recipient, which is the next one of the destination.
    Server = 6,
}

impl EventKind {
    /// Whether the event is the last one of a recipient.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed | Self::GivenUp)
    }
}

/// An event of a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Number of the recipient in the list.
    pub recipient: u32,
    /// Kind of the event.
    pub kind: EventKind,
    /// The server's reply, or the sender's own reason.
    pub why: String,
}

/// The reason why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file exists.
    #[error(
        "{0} already exists: --resume continues if it is the journal of this delivery; --journal selects another file"
    )]
    Exists(PathBuf),
    /// There is no journal to resume.
    #[error("the journal {0} does not exist: omit --resume to start a new delivery")]
    Missing(PathBuf),
    /// The file is not a journal, or is damaged.
    #[error("{0} is not the journal of a delivery: {1}")]
    NotOne(PathBuf, String),
    /// The journal belongs to another delivery.
    #[error("{0} is the journal of another delivery: {1}")]
    Another(PathBuf, String),
    /// Another process has the journal open.
    #[error("{0} is in use: is the same delivery still running?")]
    InUse(PathBuf),
    /// Writing failed.
    #[error("the journal {0} cannot be written: {1}")]
    Unwritable(PathBuf, String),
}

/// A delivery's journal, locked against other processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    database: Connection,
    run: String,
    /// Events not committed yet.
    pending: Vec<Entry>,
}

impl Journal {
    /// Creates a journal. `run` is the unique identifier of the delivery.
    ///
    /// # Errors
    /// If the file exists, or cannot be written.
    pub fn create(path: &Path, about: &About, run: &str) -> Result<Self, JournalError> {
        // Creation fails if another process has created the file.
        match std::fs::File::create_new(path) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && !path.is_dir() => {
                return Err(JournalError::Exists(path.to_owned()));
            }
            Err(_) if path.is_dir() => {
                return Err(JournalError::Unwritable(path.to_owned(), "it is a folder".to_owned()));
            }
            Err(e) => return Err(JournalError::Unwritable(path.to_owned(), e.to_string())),
        }
        let begin = || {
            let database = open(path)?;
            database.execute_batch(
                "BEGIN;
                 CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                 CREATE TABLE event (
                    number INTEGER PRIMARY KEY, at INTEGER NOT NULL, recipient INTEGER NOT NULL,
                    what INTEGER NOT NULL, why TEXT NOT NULL);",
            )?;
            let mut add = database.prepare("INSERT INTO about VALUES (?, ?)")?;
            for (key, value) in known(about).into_iter().chain([("schema", SCHEMA), ("run", run)]) {
                add.execute([key, value])?;
            }
            drop(add);
            database.execute_batch("COMMIT")?;
            Ok(database)
        };
        let unwritable = |e: rusqlite::Error| JournalError::Unwritable(path.into(), e.to_string());
        let database = begin().map_err(unwritable).inspect_err(|_| {
            // An incomplete file would prevent the next attempt.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(Self { path: path.into(), database, run: run.into(), pending: Vec::new() })
    }

    /// Opens a journal to resume its delivery.
    ///
    /// # Errors
    /// If the journal does not exist, belongs to another delivery, or is in use.
    pub fn resume(path: &Path, about: &About) -> Result<Self, JournalError> {
        if !path.is_file() {
            return Err(JournalError::Missing(path.to_owned()));
        }
        let not_one = |e: rusqlite::Error| match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                JournalError::InUse(path.into())
            }
            _ => JournalError::NotOne(path.into(), e.to_string()),
        };
        let database = open(path).map_err(not_one)?;
        let value = |key: &str| {
            let query = "SELECT value FROM about WHERE key = ?";
            database.query_row(query, [key], |row| row.get::<_, String>(0)).map_err(not_one)
        };
        if value("schema")? != SCHEMA {
            let why = "another version of oscost wrote it".to_owned();
            return Err(JournalError::Another(path.into(), why));
        }
        for (key, ours) in known(about) {
            let theirs = value(key)?;
            if theirs != ours {
                return Err(JournalError::Another(path.into(), difference(key, &theirs, ours)));
            }
        }
        let run = value("run")?;
        Ok(Self { path: path.into(), database, run, pending: Vec::new() })
    }

    /// The identifier of the delivery, which a resumed delivery keeps.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Calls `each` for all events so far, in order.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn history(&self, mut each: impl FnMut(Entry)) -> Result<(), JournalError> {
        let not_one = |e: rusqlite::Error| JournalError::NotOne(self.path.clone(), e.to_string());
        let query = "SELECT recipient, what, why FROM event ORDER BY number";
        let mut query = self.database.prepare(query).map_err(not_one)?;
        let mut rows = query.query([]).map_err(not_one)?;
        while let Some(row) = rows.next().map_err(not_one)? {
            let what: u8 = row.get(1).map_err(not_one)?;
            let what = EventKind::from_repr(what).ok_or_else(|| {
                let why = format!("an event is of the unknown kind {what}");
                JournalError::NotOne(self.path.clone(), why)
            })?;
            let recipient = row.get(0).map_err(not_one)?;
            each(Entry { recipient, kind: what, why: row.get(2).map_err(not_one)? });
        }
        Ok(())
    }

    /// Records an event, to be written by [`Journal::commit`].
    pub fn record(&mut self, recipient: u32, kind: EventKind, why: &str) {
        self.pending.push(Entry { recipient, kind, why: why.to_owned() });
    }

    /// Writes the recorded events in one transaction. They survive the end of this process at once, and a crash of the
    /// machine when the system has written them to disk.
    ///
    /// # Errors
    /// If the events cannot be written; none of them is written then.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let at =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
        let pending = &self.pending;
        let mut write = || {
            let all = self.database.transaction()?;
            let add = "INSERT INTO event (at, recipient, what, why) VALUES (?, ?, ?, ?)";
            let mut add = all.prepare_cached(add)?;
            for entry in pending {
                add.execute(params![at, entry.recipient, entry.kind as i64, entry.why])?;
            }
            drop(add);
            all.commit()
        };
        write().map_err(|e| JournalError::Unwritable(self.path.clone(), e.to_string()))?;
        self.pending.clear();
        Ok(())
    }
}

/// The default path of a delivery's journal, beside the list.
pub fn journal_beside(list: &Path) -> PathBuf {
    let mut name = list.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// The values of `about` that are compared, by name.
fn known(about: &About) -> [(&str, &str); 4] {
    [
        ("list", &about.list),
        ("message", &about.message),
        ("from", &about.from),
        ("mode", if about.dry { "test" } else { "send" }),
    ]
}

fn difference(key: &str, theirs: &str, ours: &str) -> String {
    match key {
        "list" => "the list has changed since".to_owned(),
        "message" => "the message, or what is put into it, has changed since".to_owned(),
        "from" => format!("its sender was {theirs}, not {ours}"),
        _ => format!("it was in mode `{theirs}`, not `{ours}`: see --dry and --really-send"),
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(FREE_WITHIN)?;
    // The mode is set before the first access: with one process the log needs no shared memory.
    database.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    database.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    // The statement takes the lock now, not at the first write.
    database.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
    Ok(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About { list: "l".into(), message: "m".into(), from: "a@x.test".into(), dry: false }
    }

    fn history(journal: &Journal) -> Vec<(u32, EventKind, String)> {
        let mut all = Vec::new();
        journal.history(|entry| all.push((entry.recipient, entry.kind, entry.why))).unwrap();
        all
    }

    #[test]
    fn what_is_committed_is_there_later_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::create(&path, &about(), "run-1").unwrap();
        journal.record(7, EventKind::Sending, "");
        journal.record(7, EventKind::Delivered, "250 queued as 12");
        journal.commit().unwrap();
        journal.record(8, EventKind::Sending, "");
        drop(journal);
        let journal = Journal::resume(&path, &about()).unwrap();
        let sending = (7, EventKind::Sending, String::new());
        let delivered = (7, EventKind::Delivered, "250 queued as 12".to_owned());
        assert_eq!(history(&journal), [sending, delivered]);
        assert_eq!(journal.run(), "run-1");
    }

    #[test]
    fn one_delivery_cannot_be_taken_for_another_nor_run_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let missing = Journal::resume(&path, &about());
        assert!(matches!(missing, Err(JournalError::Missing(_))));
        let journal = Journal::create(&path, &about(), "run-1").unwrap();
        assert!(matches!(Journal::resume(&path, &about()), Err(JournalError::InUse(_))));
        let again = Journal::create(&path, &about(), "run-2");
        assert!(matches!(again, Err(JournalError::Exists(_))));
        drop(journal);
        let other = Journal::resume(&path, &About { list: "other".into(), ..about() }).unwrap_err();
        assert!(
            other.to_string().ends_with("another delivery: the list has changed since"),
            "{other}"
        );
        let other = Journal::resume(&path, &About { dry: true, ..about() }).unwrap_err();
        assert!(other.to_string().contains("it was in mode `send`, not `test`"), "{other}");
        let text = folder.path().join("text");
        std::fs::write(&text, "not a database, but long enough to be looked at".repeat(20))
            .unwrap();
        assert!(matches!(Journal::resume(&text, &about()), Err(JournalError::NotOne(..))));
    }
}
