//! What a format of another tool reads, and the run that oscost makes of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use measure::Doubt;
use measure::doubt::OtherSpread;

use crate::check::parse_time;
use crate::document::{CaseResult, Document, MachineFacts, OTHER_TOOL, Outcome, RunInfo, SCHEMA};
use crate::import::ImportError;

/// The format of another tool's results, identified by its name.
#[derive(Debug)]
pub struct ToolFormat {
    /// Name in `oscost import --from`; also the area of the cases.
    pub name: &'static str,
    /// The file that is read, in one line.
    pub about: &'static str,
    pub(super) reads: Reads,
}

/// What a format reads.
#[derive(Debug)]
pub(super) enum Reads {
    /// The text of a file.
    Text(fn(&str) -> Result<ToolRun, ImportError>),
    /// A folder with several files; the text is that of all files that were read.
    Folder(fn(&Path) -> Result<(ToolRun, String), ToolError>),
}

/// The content of a tool's file.
#[derive(Debug, Default)]
pub(super) struct ToolRun {
    /// Version of the tool, if the file has it.
    pub version: Option<String>,
    /// Start of the run as RFC 3339, if the file has it with a time zone.
    pub started: Option<String>,
    /// Facts about the machine, under the names that oscost uses.
    pub machine: MachineFacts,
    pub results: Vec<ToolResult>,
    /// Names of entries that are no results, such as fits over several.
    pub left_out: Vec<String>,
}

/// A result of another tool, and the origin of its spread.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub result: CaseResult,
    pub spread: OtherSpread,
}

/// The reason why a file of another tool cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {error}", file.display())]
pub struct ToolError {
    /// The file.
    pub file: PathBuf,
    /// The line and the problem.
    pub error: ImportError,
}

impl PartialEq for ToolFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ToolFormat {}

impl ToolFormat {
    /// Whether the tool's results are a folder.
    pub fn is_folder(&self) -> bool {
        matches!(self.reads, Reads::Folder(_))
    }

    /// Reads the text of the file `path`, or its files if the format is a folder. `written`, the time of the file, stands for
    /// the start of the run if the tool does not say when that was.
    ///
    /// The names beside the document are of entries that are no results, such as fits over several.
    ///
    /// The run's id is the tool's name with a checksum of the text, so that a file that is imported again is the same run.
    ///
    /// # Errors
    /// The file, line and problem, if the tool did not write it so.
    pub fn document(
        &self,
        path: &Path,
        text: &str,
        written: SystemTime,
    ) -> Result<(Document, Vec<String>), ToolError> {
        let in_file = |error| ToolError { file: path.to_owned(), error };
        let (mut run, checksum) = match self.reads {
            Reads::Text(read) => (read(text).map_err(in_file)?, crc32(text)),
            Reads::Folder(read) => {
                let (run, texts) = read(path)?;
                (run, crc32(&texts))
            }
        };
        if run.results.is_empty() {
            return Err(in_file(error(1, format!("no results of {} are in it", self.name))));
        }
        let left_out = std::mem::take(&mut run.left_out);
        let document = self.of_run(run, checksum, written);
        let checked = document.check();
        checked.map_err(|fault| in_file(error(1, fault.to_string())))?;
        Ok((document, left_out))
    }

    fn of_run(&self, run: ToolRun, checksum: u32, written: SystemTime) -> Document {
        let tool = match &run.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.to_owned(),
        };
        let mut machine = run.machine;
        machine.insert(OTHER_TOOL.to_owned(), tool.clone().into());
        let started = run.started.filter(|time| parse_time(time).is_some());
        let started = started.unwrap_or_else(|| rfc3339(written));
        let marked = run.results.into_iter().map(|ToolResult { mut result, spread }| {
            if result.outcome == Outcome::Measured {
                let tool = tool.clone();
                result.doubts.insert(0, Doubt::OtherTool { tool, spread });
            }
            result.sound().into_owned()
        });
        Document {
            schema: SCHEMA,
            run: RunInfo {
                id: format!("{}-{checksum:08x}", self.name),
                finished: Some(started.clone()),
                started,
                seed: 0,
                oscost: env!("CARGO_PKG_VERSION").to_owned(),
                tags: Default::default(),
                asked: Default::default(),
                core_clock_ghz: None,
                area_seconds: Default::default(),
            },
            machine,
            results: distinct(marked.collect()),
        }
    }
}

/// The results, of which those with a known point and metric get the parameter `entry`: tools accept the same name twice.
fn distinct(mut results: Vec<CaseResult>) -> Vec<CaseResult> {
    let mut known = BTreeSet::new();
    for result in &mut results {
        let mut entry = 1;
        while !known.insert((result.case.clone(), result.params.clone(), result.metric.clone())) {
            entry += 1;
            result.params.insert("entry".to_owned(), entry.to_string());
        }
    }
    results
}

pub(super) fn error(line: usize, message: impl Into<String>) -> ImportError {
    ImportError { line, message: crate::check::one_line(&message.into()) }
}

/// The time as RFC 3339, to the second; 1970 for times that jiff cannot express.
fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    jiff::Timestamp::from_second(time.as_second()).unwrap_or_default().to_string()
}

fn crc32(text: &str) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(text.as_bytes());
    crc.sum()
}
