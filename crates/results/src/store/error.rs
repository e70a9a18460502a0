//! Errors of the store: the file, the cause and the remedy.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::process::limits::file_size;
use rusqlite::ErrorCode;

use crate::check::{Fault, one_line};

/// Maximum time that a writer waits for another one. A transaction takes milliseconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of candidates listed for an ambiguous name.
const MAX_LISTED: usize = 8;

/// An error of the store. Each is one line with all details, so none has a source.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No environment variable gives the directory of the user's data.
    #[error(
        "no place for the store: none of XDG_DATA_HOME, LOCALAPPDATA and HOME is set to a full path; \
         set OSCOST_STORE to a file"
    )]
    NoPlace,
    /// No environment variable gives a directory for journals.
    #[error(
        "no place for the journals of runs into a shared store: none of XDG_DATA_HOME, LOCALAPPDATA and HOME is set to \
         a full path; set OSCOST_JOURNALS to a folder"
    )]
    NoPlaceForJournals,
    /// The store was opened for reading, and the file does not exist.
    #[error("{path}: no store exists here; `oscost run` or `oscost import` creates one", path = path.display())]
    Missing {
        /// The path of the store.
        path: PathBuf,
    },
    /// The file belongs to another program. It was not modified.
    #[error(
        "{path}: not an oscost store ({what}), left as it is; set OSCOST_STORE to another file",
        path = path.display()
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
    },
    /// The file has the tables of another version. It was not modified.
    #[error(
        "{path}: a store of version {found}, made by a newer oscost: this build knows version {known} only; \
         use that oscost, or set OSCOST_STORE to another file",
        path = path.display()
    )]
    OtherVersion {
        /// The store.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Version of this build.
        known: i64,
    },
    /// A development build created the file. It was not modified.
    #[error(
        "{path}: a store of a development build of oscost before 0.1, which this build does not read; \
         move it away to start a new one, or set OSCOST_STORE to another file",
        path = path.display()
    )]
    Development {
        /// The store.
        path: PathBuf,
    },
    /// An error of the operating system.
    #[error("{path}: {cause}", path = path.display(), cause = io_cause(error))]
    Io {
        /// The store or a folder above it.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file system has no locks.
    #[error(
        "{path}: its file system does not lock files ({error}), and a store needs locks; start its lock service, such as \
         statd of NFS, or set OSCOST_STORE to a file on another file system",
        path = path.display()
    )]
    Unlockable {
        /// The store.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// An error of SQLite.
    #[error("{path}: {cause}", path = path.display(), cause = sqlite_cause(error))]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
    /// The server of a shared store cannot be reached, or ended the connection.
    #[error("{store}: {what}")]
    Lost {
        /// The store, without a password.
        store: String,
        /// The cause, and the remedy.
        what: String,
    },
    /// The server of a shared store refuses something.
    #[error("{store}: {what}")]
    Server {
        /// The store, without a password.
        store: String,
        /// The cause, and the remedy.
        what: String,
    },
    /// The run of a shared store belongs to another user of it.
    #[error(
        "run {id} was stored by another user of {store}: only that user, or the store's owner, can change it"
    )]
    OthersRun {
        /// The run.
        id: String,
        /// The store, without a password.
        store: String,
    },
    /// Recent writes are in a second file, which SQLite cannot read without writing to the folder.
    #[error(
        "{path}: its newest runs are still in {path}-wal, and this folder cannot be written to; \
         copy both files to a folder of yours and set OSCOST_STORE to the copy",
        path = path.display()
    )]
    WalUnreadable {
        /// The store.
        path: PathBuf,
    },
    /// A stored value does not read back.
    #[error("{path}: damaged: {what}; {DAMAGED_REMEDY}", path = path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The value, and what is wrong with it.
        what: String,
    },
    /// No run has that name.
    #[error("no run {asked:?} in the store: {hint}; `oscost runs` lists them")]
    UnknownRun {
        /// The requested name.
        asked: String,
        /// Similar names.
        hint: String,
    },
    /// Several runs match the name.
    #[error("{asked:?} matches several runs: {}; use a longer name", listed(candidates))]
    AmbiguousRun {
        /// The requested name.
        asked: String,
        /// The runs' ids, oldest first.
        candidates: Vec<String>,
    },
    /// A run with this id exists.
    #[error("run {id} is already in the store; a new run needs a unique id")]
    RunExists {
        /// The run.
        id: String,
    },
    /// The id belongs to a run with other contents.
    #[error(
        "run {id} is already in the store and differs from this one; delete that one first to replace it"
    )]
    RunDiffers {
        /// The run.
        id: String,
    },
    /// A round with this number is stored.
    #[error("round {seq} of run {id} is already in the store")]
    RoundExists {
        /// The run.
        id: String,
        /// The round.
        seq: u64,
    },
    /// The figures to be stored cannot be true.
    #[error("cannot store run {id:?}: {fault}")]
    Unsound {
        /// The run.
        id: String,
        /// The violated rule.
        fault: Fault,
    },
}

const DAMAGED_REMEDY: &str =
    "move it away to start a new one, or save what is left with `sqlite3 FILE .recover`";

impl StoreError {
    pub(super) fn io(path: &Path, error: io::Error) -> StoreError {
        StoreError::Io { path: path.to_owned(), error }
    }

    pub(super) fn sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: path.to_owned(), error }
    }

    pub(super) fn unsound(id: &str, message: impl Into<String>) -> StoreError {
        StoreError::Unsound { id: id.to_owned(), fault: Fault(message.into()) }
    }
}

fn io_cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "permission denied; change its owner or mode, or set OSCOST_STORE to another file"
                .to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only; set OSCOST_STORE to a file elsewhere".to_owned()
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DISK_FULL.to_owned(),
        io::ErrorKind::FileTooLarge => too_large(file_size().unwrap_or_default()),
        io::ErrorKind::IsADirectory => {
            "a folder, not a file; set OSCOST_STORE to a file".to_owned()
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "part of the path is a file, not a folder; set OSCOST_STORE to another file".to_owned()
        }
        _ => format!("{error}; set OSCOST_STORE to another file if this one cannot be used"),
    }
}

const DISK_FULL: &str = "the disk is full; free some space and go on with `oscost run --resume`";

/// A store that would become larger than this process's files may be.
fn too_large(limit: u64) -> String {
    let kib = limit >> 10;
    format!(
        "it would exceed the limit of file size, {kib} KiB (`ulimit -f`); raise that, or delete runs"
    )
}

/// Whether a write failed in a way that a limit of file size causes.
fn is_of_size(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
    error.sqlite_error().is_some_and(|error| {
        [SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE]
            .contains(&error.extended_code)
    })
}

fn sqlite_cause(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => DISK_FULL.to_owned(),
        Some(ErrorCode::ReadOnly) => {
            "cannot be written to; change its mode, or set OSCOST_STORE to another file".to_owned()
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "the file or its folder cannot be used; check their owner and mode, or set OSCOST_STORE to another file"
                .to_owned()
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("damaged; {DAMAGED_REMEDY}")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let seconds = BUSY_TIMEOUT.as_secs();
            format!("another process has kept it locked for {seconds} s; end that one, or try again")
        }
        Some(ErrorCode::SystemIoFailure) if is_of_size(error) && file_size().is_some() => {
            too_large(file_size().unwrap_or_default())
        }
        // SQLite could not extend the index of its write-ahead log.
        Some(ErrorCode::SystemIoFailure)
            if error.sqlite_error().map(|e| e.extended_code)
                == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) =>
        {
            DISK_FULL.to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("reading or writing failed ({error}); check the disk and `dmesg`")
        }
        _ => one_line(&error.to_string()),
    }
}

fn listed(candidates: &[String]) -> String {
    let mut text = candidates.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
    if candidates.len() > MAX_LISTED {
        text.push_str(&format!(" and {} more", candidates.len() - MAX_LISTED));
    }
    text
}
