//! Brings the nodes of a job to an end: some at once, with further attempts, and one store for all.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use platform::file::private;
use platform::process::spawn_scoped;
use results::{Document, JOB_TAG, NODE_TAG, parse_document};

use crate::attempt::attempt;
use crate::durable::{Arriving, DOCUMENT_AT_MOST};
use crate::error::FleetError;
use crate::exchange::Halt;
use crate::failure::Failure;
use crate::journal::{Journal, Row, State, Step};
use crate::nodes::Node;
use crate::order::{Act, Message, Order};
use crate::request::Request;
use crate::transport::{Attempt, Transport};

/// Time between two looks at what is awaited.
const LOOK: Duration = Duration::from_millis(100);
/// Pause before the second attempt; each further one is twice as long, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_secs(2);
/// Maximum pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Maximum length of a run's id.
const RUN_ID_AT_MOST: usize = 100;

/// A node to be tried: not before a time.
struct Due<'a> {
    node: &'a Node,
    at: Instant,
    /// Number of this coordination's attempts before this one.
    before: usize,
}

/// A coordinator's work on a job.
pub struct Coordination<'a> {
    request: &'a Request,
    directory: &'a Path,
    transport: &'a dyn Transport,
    journal: Mutex<Journal>,
    stop: &'a AtomicBool,
    stop_file: PathBuf,
    due: Mutex<Vec<Due<'a>>>,
    /// Held by the thread that reads a document, which takes memory of several times its length.
    reads: Mutex<()>,
    /// Set if the journal cannot be written: then nothing may be begun.
    broken: AtomicBool,
}

/// What a worker tells the caller's thread.
enum Told {
    /// The document of this node's run is in the job's directory, where it stays until it is stored: documents would fill the memory.
    Collected(String),
    /// The row has come to its end.
    Ended(Row),
}

impl<'a> Coordination<'a> {
    /// Prepares the coordination of a job with an open journal.
    pub fn new(
        request: &'a Request,
        directory: &'a Path,
        transport: &'a dyn Transport,
        journal: Journal,
        stop: &'a AtomicBool,
        stop_file: PathBuf,
    ) -> Self {
        let (journal, due) = (Mutex::new(journal), Mutex::new(Vec::new()));
        let (reads, broken) = (Mutex::new(()), AtomicBool::new(false));
        Self { request, directory, transport, journal, stop, stop_file, due, reads, broken }
    }

    /// Runs to the end of all nodes, or to a request to stop. Returns the rows.
    pub fn run(
        self,
        keep: &mut dyn FnMut(&Document) -> Result<(), String>,
        told: &mut dyn FnMut(&Row),
    ) -> Result<Vec<Row>, FleetError> {
        let rows = self.journal().rows(&self.request.nodes);
        let (sender, ended) = channel();
        let mut due = Vec::new();
        for (row, node) in rows.iter().zip(&self.request.nodes) {
            match row.state {
                State::Done => {}
                // The document that an earlier coordinator collected, if it is sound.
                State::Collected if self.kept_document(&node.name).is_ok() => {
                    let _ = sender.send(Told::Collected(node.name.clone()));
                }
                _ => due.push(Due { node, at: Instant::now(), before: 0 }),
            }
        }
        // Workers take nodes from the end.
        due.reverse();
        let workers = self.request.effort.at_once.min(due.len());
        *self.due() = due;
        let work = AtomicBool::new(true);
        std::thread::scope(|scope| {
            for started in 0..workers {
                let sender = sender.clone();
                let thread =
                    spawn_scoped(scope, "a thread for a node", || self.work(sender, &work));
                match thread {
                    Ok(_) => {}
                    Err(denied) if started == 0 => {
                        return Err(FleetError::Unsupported(denied.to_string()));
                    }
                    // The threads that were started take all nodes.
                    Err(_) => break,
                }
            }
            drop(sender);
            loop {
                match ended.recv_timeout(LOOK) {
                    Ok(Told::Collected(node)) => {
                        if let Some(row) = self.store(&node, keep) {
                            told(&row);
                        }
                    }
                    Ok(Told::Ended(row)) => told(&row),
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    Err(RecvTimeoutError::Timeout) => {
                        if self.stop.load(Ordering::Relaxed) || self.stop_file.exists() {
                            work.store(false, Ordering::Relaxed);
                        }
                    }
                }
            }
        })?;
        match self.broken.load(Ordering::Relaxed) {
            true => {
                let error =
                    std::io::Error::other("it cannot be written; nothing further was begun");
                Err(FleetError::file(format!("the journal in {}", self.directory.display()))(error))
            }
            false => Ok(self.journal().rows(&self.request.nodes)),
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn due(&self) -> MutexGuard<'_, Vec<Due<'a>>> {
        self.due.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Records a step; without a record nothing further is begun.
    fn record(&self, node: &str, step: Step) -> Result<Row, Halt> {
        self.journal().record(node, step).map_err(|_| {
            self.broken.store(true, Ordering::Relaxed);
            Halt::Stopped
        })
    }

    /// Stores a collected document; the row ends, or stays collected with the store's error.
    fn store(
        &self,
        node: &str,
        keep: &mut dyn FnMut(&Document) -> Result<(), String>,
    ) -> Option<Row> {
        let document = self.kept_document(node).map_err(|failure| failure.reason);
        let stored = document.and_then(|document| keep(&document).map(|()| document.run.id));
        match stored {
            Ok(run) => {
                let row = self.record(node, Step::Stored { run }).ok()?;
                // Both the store and the journal are on the disk now. What cannot be removed costs room only.
                let _ = std::fs::remove_file(self.document_path(node));
                Some(row)
            }
            Err(error) => {
                let mut row = self.journal().row(node)?.clone();
                row.reason = Some(format!("the store did not take the run: {error}"));
                row.remedy = Some(
                    "mend the store; fleet resume stores it from the job's directory".to_owned(),
                );
                Some(row)
            }
        }
    }

    /// Tries nodes until there are none left.
    fn work(&self, sender: Sender<Told>, work: &AtomicBool) {
        loop {
            if !work.load(Ordering::Relaxed) || self.broken.load(Ordering::Relaxed) {
                return;
            }
            let next = {
                let mut due = self.due();
                if due.is_empty() {
                    return;
                }
                let now = Instant::now();
                let ready = due.iter().rposition(|one| one.at <= now);
                ready.map(|index| due.remove(index))
            };
            let Some(next) = next else {
                std::thread::sleep(LOOK);
                continue;
            };
            match self.try_node(&next, work) {
                Ok(()) => {
                    let _ = sender.send(Told::Collected(next.node.name.clone()));
                }
                Err(Halt::Stopped) => {}
                Err(Halt::Failed(failure)) => {
                    let again = failure.again && next.before < self.request.effort.retries;
                    match self.record(&next.node.name, Step::Failed(failure)) {
                        Ok(_) if again => {
                            let doubled = 1 << next.before.min(10);
                            let pause = (PAUSE * doubled).min(LONGEST_PAUSE);
                            let (at, before) = (Instant::now() + pause, next.before + 1);
                            self.due().insert(0, Due { at, before, ..next });
                        }
                        Ok(row) => {
                            let _ = sender.send(Told::Ended(row));
                        }
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// One attempt at a node; its document is in the job's directory when this returns.
    fn try_node(&self, due: &Due<'_>, work: &AtomicBool) -> Result<(), Halt> {
        let node = due.node;
        let attempts = self.journal().row(&node.name).map_or(0, |row| row.attempts);
        self.record(&node.name, Step::Begun { attempt: attempts + 1 })?;
        let order = order_of(self.request, node, Act::Measure);
        let mut document = Arriving::new(&self.document_path(&node.name));
        let mut record = |step: Step| self.record(&node.name, step).map(|_| ());
        let mut trying = Attempt {
            job: &self.request.id,
            node: &node.name,
            document: Some(&mut document),
            effort: &self.request.effort,
            record: &mut record,
            is_stopped: &|| !work.load(Ordering::Relaxed),
        };
        let said = attempt(self.transport, &self.request.binary, &order, &mut trying);
        let arrived = said.and_then(|message| match message {
            Message::Document { bytes } => Ok(document.check_length(bytes)?),
            Message::Failed(failure) => Err(failure.into()),
            _ => {
                let failure = Failure::lasting(
                    "the job was stopped on the node",
                    "fleet resume continues it",
                );
                Err(failure.into())
            }
        });
        let checked = arrived.and_then(|()| Ok(self.read(&node.name, document.part())?.run.id));
        match checked {
            Ok(run) => {
                document.keep()?;
                self.record(&node.name, Step::Collected { run }).map(|_| ())
            }
            Err(halt) => {
                document.discard();
                Err(halt)
            }
        }
    }

    fn document_path(&self, node: &str) -> PathBuf {
        // Names of nodes may have dots.
        self.directory.join("documents").join(format!("{node}.json"))
    }

    /// The document of a node that was collected.
    fn kept_document(&self, node: &str) -> Result<Document, Failure> {
        self.read(node, &self.document_path(node))
    }

    /// Reads and checks a document.
    fn read(&self, node: &str, path: &Path) -> Result<Document, Failure> {
        let _one = self.reads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = private::read(path, DOCUMENT_AT_MOST).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| std::io::Error::other(error.utf8_error()))
        });
        let text = text.map_err(|error| {
            let remedy = "look at the data directory; fleet resume collects it again";
            Failure::passing(format!("{}: {error}", path.display()), remedy)
        })?;
        self.checked(node, &text)
    }

    /// The document, if it is one of this job's run on this node.
    fn checked(&self, node: &str, text: &str) -> Result<Document, Failure> {
        let again = "fleet resume collects it again";
        let document = parse_document(text).map_err(|error| {
            Failure::passing(format!("the node's document is damaged: {error}"), again)
        })?;
        let has =
            |key: &str, value: &str| document.run.tags.get(key).is_some_and(|tag| tag == value);
        // The id is printed, and written to the journal.
        let id = &document.run.id;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_id = !id.is_empty() && id.len() <= RUN_ID_AT_MOST && id.chars().all(is_plain);
        match is_id && has(JOB_TAG, &self.request.id) && has(NODE_TAG, node) {
            true => Ok(document),
            false => Err(Failure::lasting(
                "the node's document is one of another run",
                "look at the node",
            )),
        }
    }
}

/// The order of a job to a node.
pub fn order_of(request: &Request, node: &Node, act: Act) -> Order {
    let host = platform::machine::host_name().unwrap_or_else(|| "unknown".to_owned());
    Order {
        act,
        job: request.id.clone(),
        node: node.name.clone(),
        by: format!("{}@{host}", platform::machine::user_name()),
        arguments: [&request.arguments[..], &node.arguments].concat(),
        limit: request.effort.limit,
        wait: request.effort.wait,
    }
}
