//! A job: a directory of the coordinator with what is to be done and what was begun.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use platform::file::private;
use results::Document;

use crate::coordinate::Coordination;
use crate::durable::write_durably;
use crate::effort::Effort;
use crate::error::FleetError;
use crate::journal::{Journal, Row, State};
use crate::lock::JobLock;
use crate::request::{Request, TransportKind};
use crate::stop;
use crate::transport::Transport;
use crate::transport::slurm::Slurm;
use crate::transport::ssh::Ssh;

/// Opens the transport that a request names.
fn open(kind: &TransportKind) -> Box<dyn Transport> {
    match kind {
        TransportKind::Ssh { command } => Box::new(Ssh::new(command)),
        TransportKind::Slurm(settings) => Box::new(Slurm::new(settings)),
    }
}

/// A job.
pub struct Job {
    directory: PathBuf,
    request: Request,
}

/// Names of files in a job's directory.
const REQUEST: &str = "job.json";
const JOURNAL: &str = "journal.jsonl";
const LOCK: &str = "lock";
const STOP: &str = "stop";
/// For how long a new coordinator waits for the lock: another process has it for a moment when it asks whether the job is
/// coordinated, and the processes that a killed coordinator was starting have it until they have ended.
const BRIEFLY: Duration = Duration::from_millis(500);

impl Job {
    /// Begins a job in the directory `jobs`; nothing is started.
    ///
    /// # Errors
    /// If its directory cannot be written.
    pub fn create(jobs: &Path, request: Request) -> Result<Self, FleetError> {
        let directory = jobs.join(&request.id);
        let failed = || FleetError::file(directory.display());
        private::create_directories(&directory.join("documents")).map_err(failed())?;
        let job = Self { directory: directory.clone(), request };
        job.write_request()?;
        Ok(job)
    }

    /// Opens a job.
    ///
    /// # Errors
    /// If its directory cannot be read.
    pub fn open(directory: &Path) -> Result<Self, FleetError> {
        let path = directory.join(REQUEST);
        let text = fs::read_to_string(&path).map_err(FleetError::file(path.display()))?;
        let request = serde_json::from_str(&text)
            .map_err(|error| FleetError::file(path.display())(std::io::Error::other(error)))?;
        Ok(Self { directory: directory.to_owned(), request })
    }

    /// What the job is to do.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Changes the limits.
    ///
    /// # Errors
    /// If the job's directory cannot be written.
    pub fn set_effort(&mut self, effort: Effort) -> Result<(), FleetError> {
        self.request.effort = effort;
        self.write_request()
    }

    fn write_request(&self) -> Result<(), FleetError> {
        let text = serde_json::to_string_pretty(&self.request).unwrap_or_default();
        let path = self.directory.join(REQUEST);
        write_durably(&path, text.as_bytes()).map_err(FleetError::file(path.display()))
    }

    /// One row for each node.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn rows(&self) -> Result<Vec<Row>, FleetError> {
        let path = self.directory.join(JOURNAL);
        Journal::read(&path, &self.request.nodes).map_err(FleetError::file(path.display()))
    }

    /// Whether a process coordinates the job now.
    pub fn is_coordinated(&self) -> bool {
        self.lock(Duration::ZERO).is_ok_and(|lock| lock.is_none())
    }

    /// Takes the coordinator's lock; `None` if another process has it for as long as `patience`.
    fn lock(&self, patience: Duration) -> Result<Option<JobLock>, FleetError> {
        let path = self.directory.join(LOCK);
        JobLock::take(&path, patience).map_err(FleetError::file(path.display()))
    }

    /// Brings every node that has no stored run to an end, and returns all rows. `keep` stores a document, and is called with
    /// the same one again if this process was killed before the journal had the call's success. `told` is called with each row
    /// that has come to its end. `stop` ends the coordination, not what runs on nodes.
    ///
    /// # Errors
    /// If another process coordinates the job, or its directory cannot be written.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        keep: &mut dyn FnMut(&Document) -> Result<(), String>,
        told: &mut dyn FnMut(&Row),
    ) -> Result<Vec<Row>, FleetError> {
        let Some(_lock) = self.lock(BRIEFLY)? else {
            let id = &self.request.id;
            return Err(FleetError::Usage(format!(
                "another process coordinates job {id}: fleet status {id}"
            )));
        };
        let stop_file = self.directory.join(STOP);
        match fs::remove_file(&stop_file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(FleetError::file(stop_file.display())(error));
            }
            _ => {}
        }
        let transport = open(&self.request.transport);
        let journal = self.journal()?;
        Coordination::new(
            &self.request,
            &self.directory,
            transport.as_ref(),
            journal,
            stop,
            stop_file,
        )
        .run(keep, told)
    }

    /// Ends what the job started on its nodes, after the end of its coordinator, which this awaits.
    ///
    /// # Errors
    /// If the coordinator does not end within a minute, or the directory cannot be written.
    pub fn stop(&mut self) -> Result<Vec<Row>, FleetError> {
        let path = self.directory.join(STOP);
        private::create(&path).map_err(FleetError::file(path.display()))?;
        let Some(_lock) = self.lock(Duration::from_secs(60))? else {
            let id = &self.request.id;
            return Err(FleetError::Usage(format!("the coordinator of job {id} does not end")));
        };
        let journal = self.journal()?;
        let started = journal.rows(&self.request.nodes);
        // A failed node may still run what lost its connection.
        let may_run =
            |row: &Row| row.state.is_under_way() || row.state == State::Failed && row.was_reached;
        let started = started.into_iter().filter(may_run);
        let transport = open(&self.request.transport);
        stop::end_all(
            &self.request,
            &self.directory,
            transport.as_ref(),
            journal,
            started.collect(),
        )
    }

    fn journal(&self) -> Result<Journal, FleetError> {
        let path = self.directory.join(JOURNAL);
        Journal::open(&path, &self.request.nodes).map_err(FleetError::file(path.display()))
    }
}
