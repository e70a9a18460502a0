//! The journal of a job: what was begun on each node, written and synced before it is begun.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use platform::file::private;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::lock::now;
use crate::nodes::Node;

/// What happens to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// An attempt begins: something may be started on the node from now on.
    Begun {
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// Slurm has the node's job, which waits in its queue.
    Queued {
        /// Slurm's number of the job.
        id: String,
    },
    /// The program is copied.
    Copying,
    /// Another run is measured on the node.
    Waiting {
        /// Who measures.
        holder: String,
    },
    /// The node measures.
    Measuring,
    /// The document is in the job's directory.
    Collected {
        /// The run.
        run: String,
    },
    /// The run is in the store.
    Stored {
        /// The run.
        run: String,
    },
    /// The attempt failed.
    Failed(Failure),
    /// `fleet stop` ended what ran there.
    Stopped,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// When, as RFC 3339 in UTC.
    at: String,
    node: String,
    #[serde(flatten)]
    step: Step,
}

/// Where a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was begun.
    Pending,
    /// The coordinator connects.
    Connecting,
    /// In Slurm's queue.
    Queued,
    /// The program is copied to it.
    Copying,
    /// Waits for another job's run on the node.
    Waiting,
    /// It measures.
    Measuring,
    /// Its document is with the coordinator, not yet in the store.
    Collected,
    /// Its run is in the store.
    Done,
    /// There is no result.
    Failed,
    /// `fleet stop` ended it.
    Stopped,
}

impl State {
    /// The state in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connecting => "connecting",
            Self::Queued => "queued",
            Self::Copying => "copying",
            Self::Waiting => "waiting",
            Self::Measuring => "measuring",
            Self::Collected => "collected",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether an attempt is under way, or was when the coordinator ended.
    pub fn is_under_way(&self) -> bool {
        !matches!(self, Self::Pending | Self::Collected | Self::Done | Self::Failed | Self::Stopped)
    }
}

/// What is known of a node: one row of `fleet status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The node.
    pub node: String,
    /// Where it is.
    pub state: State,
    /// Number of attempts so far.
    pub attempts: u32,
    /// The run, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Why there is no result, or what the node waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Slurm's number of its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slurm_job: Option<String>,
    /// Begin of the last attempt, as RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// When its state began, as RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Whether an attempt came so far that something may still run on the node.
    #[serde(skip)]
    pub was_reached: bool,
}

impl Row {
    /// The row of a node of which nothing was begun.
    fn new(node: &Node) -> Self {
        Self {
            node: node.name.clone(),
            state: State::Pending,
            attempts: 0,
            run: None,
            reason: None,
            remedy: None,
            slurm_job: None,
            began: None,
            since: None,
            was_reached: false,
        }
    }

    fn apply(&mut self, at: &str, step: &Step) {
        self.since = Some(at.to_owned());
        (self.reason, self.remedy) = (None, None);
        self.was_reached |=
            matches!(step, Step::Queued { .. } | Step::Waiting { .. } | Step::Measuring);
        self.state = match step {
            Step::Begun { .. } => {
                self.attempts += 1;
                self.began = Some(at.to_owned());
                State::Connecting
            }
            Step::Queued { id } => {
                self.slurm_job = Some(id.clone());
                State::Queued
            }
            Step::Copying => State::Copying,
            Step::Waiting { holder } => {
                self.reason = Some(format!("the node is held by {holder}"));
                State::Waiting
            }
            Step::Measuring => State::Measuring,
            Step::Collected { run } => {
                self.run = Some(run.clone());
                State::Collected
            }
            Step::Stored { run } => {
                self.run = Some(run.clone());
                State::Done
            }
            Step::Failed(failure) => {
                self.reason = Some(failure.reason.clone());
                self.remedy = Some(failure.remedy.clone());
                State::Failed
            }
            Step::Stopped => State::Stopped,
        };
    }
}

/// The open journal, with the rows that it makes.
#[derive(Debug)]
pub struct Journal {
    file: File,
    rows: BTreeMap<String, Row>,
}

impl Journal {
    /// Opens the journal for writing; creates it if it is missing.
    ///
    /// # Errors
    /// If the file cannot be opened, read or written.
    pub fn open(path: &Path, nodes: &[Node]) -> io::Result<Self> {
        let mut file = private::options().read(true).append(true).create(true).open(path)?;
        path.parent().map_or(Ok(()), private::sync_directory)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        // A kill may have cut the last line, which the next one must not continue.
        if bytes.last().is_some_and(|&last| last != b'\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self { file, rows: rows_of(&String::from_utf8_lossy(&bytes), nodes) })
    }

    /// The rows that a journal makes, which another process may be writing.
    ///
    /// # Errors
    /// If the file cannot be read; a journal that is missing has no steps yet.
    pub fn read(path: &Path, nodes: &[Node]) -> io::Result<Vec<Row>> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        Ok(in_order(&rows_of(&String::from_utf8_lossy(&bytes), nodes), nodes))
    }

    /// Records a step, durably, and returns the node's new row.
    ///
    /// # Errors
    /// If the file cannot be written or synced: the step must not be taken then.
    pub fn record(&mut self, node: &str, step: Step) -> io::Result<Row> {
        let entry = Entry { at: now(), node: node.to_owned(), step };
        let line = serde_json::to_string(&entry).map_err(io::Error::other)? + "\n";
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()?;
        let row = self.rows.get_mut(node).ok_or_else(|| io::Error::other("no such node"))?;
        row.apply(&entry.at, &entry.step);
        Ok(row.clone())
    }

    /// The row of a node of this job.
    pub fn row(&self, node: &str) -> Option<&Row> {
        self.rows.get(node)
    }

    /// All rows in the order of the nodes.
    pub fn rows(&self, nodes: &[Node]) -> Vec<Row> {
        in_order(&self.rows, nodes)
    }
}

pub(crate) fn in_order(rows: &BTreeMap<String, Row>, nodes: &[Node]) -> Vec<Row> {
    nodes.iter().filter_map(|node| rows.get(&node.name).cloned()).collect()
}

/// The rows after all complete lines.
pub(crate) fn rows_of(text: &str, nodes: &[Node]) -> BTreeMap<String, Row> {
    let rows = nodes.iter().map(|node| (node.name.clone(), Row::new(node)));
    let mut rows: BTreeMap<String, Row> = rows.collect();
    for entry in text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok()) {
        if let Some(row) = rows.get_mut(&entry.node) {
            row.apply(&entry.at, &entry.step);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<Node> {
        crate::nodes_of(&["a".to_owned(), "b".to_owned()]).unwrap()
    }

    #[test]
    fn rows_follow_the_steps() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &nodes()).unwrap();
        journal.record("a", Step::Begun { attempt: 1 }).unwrap();
        journal.record("a", Step::Failed(Failure::passing("it broke", "mend it"))).unwrap();
        journal.record("b", Step::Begun { attempt: 1 }).unwrap();
        journal.record("b", Step::Queued { id: "7".into() }).unwrap();
        let rows = Journal::read(&path, &nodes()).unwrap();
        assert_eq!(rows[0].state, State::Failed);
        assert_eq!(rows[0].reason.as_deref(), Some("it broke"));
        assert_eq!(
            (rows[1].state.clone(), rows[1].slurm_job.as_deref()),
            (State::Queued, Some("7"))
        );
        journal.record("a", Step::Begun { attempt: 2 }).unwrap();
        let row = journal.record("a", Step::Stored { run: "r".into() }).unwrap();
        assert_eq!((row.attempts, row.state, row.reason), (2, State::Done, None));
        assert_eq!(row.run.as_deref(), Some("r"));
    }

    /// A journal cut at any byte, as by a kill, is read up to the cut and continued.
    #[test]
    fn a_cut_line_costs_itself_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &nodes()).unwrap();
        for attempt in 1..=3 {
            journal.record("a", Step::Begun { attempt }).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let ends = (0..=whole.len()).filter(|&end| whole[..end].ends_with(b"}\n"));
        // Cuts at and beside the ends of lines, and some within them.
        let beside = ends.flat_map(|end| end - 2..=(end + 1).min(whole.len()));
        for cut in (0..whole.len()).step_by(9).chain(beside) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            // A line that lacks only its line break is complete.
            let lines = whole[..cut].split(|&byte| byte == b'\n');
            let complete = lines.filter(|line| line.last() == Some(&b'}')).count();
            let mut journal = Journal::open(&path, &nodes()).unwrap();
            assert_eq!(journal.row("a").unwrap().attempts as usize, complete, "{cut}");
            journal.record("b", Step::Measuring).unwrap();
            let rows = Journal::read(&path, &nodes()).unwrap();
            assert_eq!(rows[0].attempts as usize, complete, "{cut}");
            assert_eq!(rows[1].state, State::Measuring, "{cut}");
        }
    }
}
