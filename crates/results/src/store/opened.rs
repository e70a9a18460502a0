//! An open store, with the journals of runs that a shared store has not as a whole.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use platform::file::private::sync_directory;

use super::engine::{Engine, values};
use super::error::StoreError;
use super::location;
use super::sqlite::Sqlite;
use crate::check::one_line;
use crate::document::MACHINE_ID;

/// An open store. Writing takes `&mut self`, reading `&self`. The store may move to another thread.
#[derive(Debug)]
pub struct Store {
    pub(super) path: PathBuf,
    pub(super) engine: Box<dyn Engine>,
    /// Where the runs of this machine are before a shared store has them.
    pub(super) journals: Option<RefCell<Journals>>,
    /// The machine whose runs `last` means in a store of several machines: the fact `machine_id`; `None` for all machines.
    pub(super) machine_id: Option<String>,
    pub(super) was_open_to_others: bool,
}

/// The pattern of descriptions of the machine with this id, as JSON.
pub(super) fn with_id(id: &str) -> String {
    format!("%\"{MACHINE_ID}\":\"{id}\"%")
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
        let (file, was_open_to_others) = Sqlite::for_writing(path)?;
        Ok(Store { was_open_to_others, ..Store::over(path, Box::new(file)) })
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
        let path = path.into();
        Store { path, engine, journals: None, machine_id: None, was_open_to_others: false }
    }

    /// This store, in which `last` means a run of the machine with this id, or of the one whose run came last if it has none here.
    pub fn for_machine(self, machine_id: Option<String>) -> Store {
        Store { machine_id: Some(machine_id.unwrap_or_default()), ..self }
    }

    /// The id of the machine whose runs `last` means; `None` in a store of one machine.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn machine_meant(&self) -> Result<Option<String>, StoreError> {
        let Some(own) = &self.machine_id else { return Ok(None) };
        let sql = "SELECT 1 FROM runs WHERE results > 0 AND machine LIKE ?1 LIMIT 1";
        if !own.is_empty() && !self.engine.query(sql, &values![with_id(own)])?.is_empty() {
            return Ok(Some(own.clone()));
        }
        let newest = "SELECT id, machine FROM runs WHERE results > 0 ORDER BY seq DESC LIMIT 1";
        let newest = self.machines(newest, &[])?.pop();
        let id =
            newest.and_then(|(_, machine)| Some(machine.get(MACHINE_ID)?.as_str()?.to_owned()));
        Ok(id.filter(|id| !id.is_empty() && id != "unknown"))
    }

    /// Whether other users could read the file as earlier builds made it, until it was opened just now.
    pub fn was_open_to_others(&self) -> bool {
        self.was_open_to_others
    }

    /// The path of the file, or what else messages call the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn damaged(&self, what: impl AsRef<str>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what: one_line(what.as_ref()) }
    }
}

/// When rounds are sent, and how long a run waits for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// How often rounds are sent while a run is measured.
    pub every: Duration,
    /// How long the run waits for each answer of the server between two rounds.
    pub patience: Duration,
    /// For how long nothing is sent between rounds after a failure.
    pub pause: Duration,
    /// How long the end of a run waits for a server that is being started again.
    pub patience_at_end: Duration,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(5),
            patience: Duration::from_secs(1),
            pause: Duration::from_secs(60),
            patience_at_end: Duration::from_secs(10),
        }
    }
}

/// The end of a journal's name after the run's id.
pub(super) const ENDING: &str = ".sqlite";
/// The end of the name of a file that says that a run was deleted here, and may be in the shared store.
pub(super) const DELETED: &str = ".deleted";

/// The journals of one shared store on this machine.
#[derive(Debug)]
pub(super) struct Journals {
    folder: PathBuf,
    pub sending: Sending,
    pub open: BTreeMap<String, Journal>,
    pub next_try: Instant,
    /// Why runs could not be delivered, by id.
    pub undelivered: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Journal {
    pub store: Store,
    /// Whether the shared store has the run's beginning.
    pub is_begun: bool,
    /// The last round that was sent.
    pub sent: Option<u64>,
}

impl Journals {
    pub fn new(folder: PathBuf, sending: Sending) -> Self {
        let (open, undelivered) = (BTreeMap::new(), BTreeMap::new());
        Self { folder, sending, open, next_try: Instant::now() + sending.every, undelivered }
    }

    pub fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{ENDING}"))
    }

    pub fn deleted_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{DELETED}"))
    }

    /// The ids of all files with this ending, in order.
    pub fn ids(&self, ending: &str) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| StoreError::io(&self.folder, error))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| StoreError::io(&self.folder, error))?.file_name();
            ids.extend(name.to_str().and_then(|name| name.strip_suffix(ending)).map(str::to_owned));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The journal of a run, opened if there is one.
    pub fn of(&mut self, id: &str) -> Result<Option<&mut Journal>, StoreError> {
        if !self.open.contains_key(id) {
            let path = self.path(id);
            // What the user typed may be no id.
            if id.contains(['/', '\\']) || !path.is_file() {
                return Ok(None);
            }
            let journal = Journal { store: Store::open(&path)?, is_begun: false, sent: None };
            self.open.insert(id.to_owned(), journal);
        }
        Ok(self.open.get_mut(id))
    }

    pub fn remove(&mut self, id: &str) -> Result<(), StoreError> {
        // SQLite puts all into the one file when it is closed.
        self.open.remove(id);
        let path = self.path(id);
        for ending in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(ending);
            removed(Path::new(&file))?;
        }
        self.sync()
    }

    /// Makes durable which files there are: one that is back after a power cut would be sent, or its run be deleted, once more.
    pub fn sync(&self) -> Result<(), StoreError> {
        sync_directory(&self.folder).map_err(|error| StoreError::io(&self.folder, error))
    }
}

pub(super) fn removed(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(path, error)),
        _ => Ok(()),
    }
}
