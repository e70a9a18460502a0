//! The store: every run and its workers' output, in one SQLite file, or in a database that several machines share.
//!
//! Several processes may read and write the store at the same time. A kill loses nothing: each round is in the file's log
//! when [`Store::add_round`] returns.
//!
//! All reading and writing is here, once, over the few operations of [`Engine`]: SQLite is one, and another crate has
//! PostgreSQL.

mod engine;
mod error;
mod figures;
mod journal;
mod location;
mod naming;
mod open;
mod packing;
mod reading;
mod sending;
mod sqlite;
mod thinning;
mod writing;

pub use engine::{Engine, Row, Value};
pub use error::StoreError;
pub use figures::{Figures, MetricSeries, PointRow, RunFigure, StoredPrediction};
pub use journal::{Sending, Sent};
pub use thinning::Thinned;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::check::one_line;
use journal::Journals;
use sqlite::Sqlite;

/// Maximum length of the output of a round's worker, in bytes.
pub const MAX_LINES_BYTES: usize = 64 << 20;

/// An open store. Writing takes `&mut self`, reading `&self`. The store may move to another thread.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    engine: Box<dyn Engine>,
    /// Where the runs of this machine are before a shared store has them.
    journals: Option<RefCell<Journals>>,
}

/// One worker process, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRow {
    /// The round's number within its run; rounds are read back in this order.
    pub seq: u64,
    /// The case, `area/name`.
    pub case: String,
    /// The case's parameters, by name.
    pub params: BTreeMap<String, String>,
    /// Kind of round: `round` (timed), `count` (the untimed pass), or `kept` (the untimed pass of an earlier run whose
    /// counts this run uses).
    pub kind: String,
    /// Outcome, in the runner's words.
    pub outcome: String,
    /// Start of the round, in milliseconds since 1970 UTC.
    pub started_ms: i64,
    /// The worker's output, at most [`MAX_LINES_BYTES`].
    pub lines: String,
}

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// Start, as RFC 3339.
    pub started: String,
    /// End, as RFC 3339; `None` while the run is unfinished.
    pub finished: Option<String>,
    /// Version of oscost that measured.
    pub oscost: String,
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
    /// The options of the run.
    pub asked: BTreeMap<String, String>,
    /// Number of rounds measured; 0 for an imported run. [`Store::thin`] removes the rounds, and not this number.
    pub rounds: u64,
    /// Number of results in the store.
    pub results: u64,
    /// The machine in one line, from [`machine_line`](crate::machine_line).
    pub machine: String,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The run was added.
    Added,
    /// An equal run was already stored.
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

    /// The folder of this program's data: `oscost` under `XDG_DATA_HOME`, `LOCALAPPDATA` or `HOME/.local/share`, the first that is a
    /// full path; `None` if none is set.
    pub fn data_folder() -> Option<PathBuf> {
        location::data_folder(&|name| std::env::var_os(name))
    }

    /// The folder for journals of runs into shared stores: `OSCOST_JOURNALS` if set, else `oscost/journals` beside the
    /// default store.
    ///
    /// # Errors
    /// [`StoreError::NoPlaceForJournals`] if there is no variable that gives one.
    pub fn journals_folder() -> Result<PathBuf, StoreError> {
        location::journals_folder(|name| std::env::var_os(name))
    }

    /// Opens the store for reading and writing; creates the file and its folders if they are missing.
    ///
    /// # Errors
    /// If the file is not an oscost store, or is of another version; it is not modified then.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::over(path, Box::new(Sqlite::for_writing(path)?)))
    }

    /// Opens the store for reading, also while another process writes to it, and in a folder that is not writable.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no file; else see [`Store::open`].
    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::over(path, Box::new(Sqlite::for_reading(path)?)))
    }

    /// The store in an open database; `path` is what messages call it, such as a URL without its password.
    pub fn over(path: impl Into<PathBuf>, engine: Box<dyn Engine>) -> Store {
        Store { path: path.into(), engine, journals: None }
    }

    /// The path of the file, or what else messages call the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn damaged(&self, what: impl AsRef<str>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what: one_line(what.as_ref()) }
    }
}

#[cfg(test)]
mod tests;
