//! The store: every run and its workers' output, in one SQLite file.
//!
//! Several processes may read and write it at the same time. Nothing is lost when one is killed: each
//! round is in the file's log when [`Store::add_round`] returns.

mod error;
mod location;
mod naming;
mod open;
mod packing;
mod reading;
mod writing;

pub use error::StoreError;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::check::one_line;

/// The longest output of a round's worker, in bytes.
pub const MAX_LINES_BYTES: usize = 64 << 20;

/// An open store. Writing takes `&mut self`, reading `&self`; it may move to another thread.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

/// One worker process, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRow {
    /// The round's number within its run; rounds are read back in this order.
    pub seq: u64,
    /// `area/name`.
    pub case: String,
    /// The case's parameters, by name.
    pub params: BTreeMap<String, String>,
    /// `round` (timed), `count` (the untimed counting pass), or `kept` (that of an earlier run, whose counts this run uses).
    pub kind: String,
    /// Its outcome, as the runner names it.
    pub outcome: String,
    /// When it started, in milliseconds since 1970 UTC.
    pub started_ms: i64,
    /// The worker's output, at most [`MAX_LINES_BYTES`].
    pub lines: String,
}

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// RFC 3339; `None` while unfinished.
    pub finished: Option<String>,
    /// Version of oscost that measured.
    pub oscost: String,
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
    /// The options of the run.
    pub asked: BTreeMap<String, String>,
    /// Rounds in the store; 0 for an imported run.
    pub rounds: u64,
    /// Results in the store.
    pub results: u64,
    /// The machine in one line, from [`machine_line`](crate::machine_line).
    pub machine: String,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The run was added.
    Added,
    /// The same run was already stored.
    AlreadyThere,
}

impl Store {
    /// The default path of the store: `OSCOST_STORE` if set, else `oscost/store.sqlite` under `XDG_DATA_HOME`,
    /// `LOCALAPPDATA` or `HOME/.local/share`, the first that is a full path.
    ///
    /// # Errors
    /// [`StoreError::NoPlace`] if none is set.
    pub fn default_path() -> Result<PathBuf, StoreError> {
        location::default_path(|name| std::env::var_os(name))
    }

    /// Opens the store for reading and writing; creates the file and its folders if they are missing.
    ///
    /// # Errors
    /// A file that is not an oscost store, or one of another version, is rejected and not modified.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let connection = open::for_writing(path)?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// Opens the store for reading, also while another process writes to it, and in a folder that is not writable.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none; otherwise as [`Store::open`].
    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        let connection = open::for_reading(path)?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        |error| StoreError::sqlite(&self.path, error)
    }

    fn damaged(&self, what: impl AsRef<str>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what: one_line(what.as_ref()) }
    }
}

#[cfg(test)]
mod tests;
