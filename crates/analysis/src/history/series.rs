//! Which runs make one series, and which of them are one visit.

use std::collections::BTreeSet;

use results::{Document, MachineFacts, NODE_TAG, OTHER_TOOL, RunSummary};

use crate::next_run::{MACHINE, ONE_VISIT, OPTIONS};

/// Facts that may change within a series of one machine, and are marked where they do.
const MARKED: [&str; 6] =
    ["release", "build", "microcode", "mitigations", "kernel_command_line", "libc"];
/// Facts, besides those of [`MACHINE`], that must be equal within a series.
const SAME: [&str; 4] = ["cpus", "clock", "oscost_build", OTHER_TOOL];
/// The tag of a run that measured suspect points of another run again. It is evidence about that run, and no visit of its own.
pub const CONFIRMS: &str = "confirms";

/// What splits runs of one machine into several series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The day (UTC) on which a run began.
    Day,
    /// The release of the kernel.
    Kernel,
    /// The value of a tag.
    Tag(String),
}

impl By {
    /// Reads `day`, `kernel`, `commit` (the tag of that name) or `tag.KEY`.
    ///
    /// # Errors
    /// A sentence that says what is known, for anything else.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "day" => Ok(Self::Day),
            "kernel" => Ok(Self::Kernel),
            "commit" => Ok(Self::Tag("commit".to_owned())),
            _ => match text.strip_prefix("tag.").filter(|key| !key.is_empty()) {
                Some(key) => Ok(Self::Tag(key.to_owned())),
                None => Err("it is day, kernel, commit, or tag.KEY, such as tag.branch".to_owned()),
            },
        }
    }

    fn value(&self, run: &HistoryRun) -> Option<String> {
        match self {
            Self::Day => run.summary.started.get(..10).map(str::to_owned),
            Self::Kernel => Some(fact(&run.machine, "release")),
            Self::Tag(key) => run.summary.tags.get(key).cloned(),
        }
    }
}

/// A run with its machine.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRun {
    /// The run.
    pub summary: RunSummary,
    /// Its machine.
    pub machine: MachineFacts,
    /// Start in seconds since 1970.
    pub began: f64,
}

impl HistoryRun {
    /// The run of a document, as a store would have it; the number of its rounds is unknown.
    pub fn of(document: &Document) -> Self {
        let run = &document.run;
        let summary = RunSummary {
            id: run.id.clone(),
            started: run.started.clone(),
            finished: run.finished.clone(),
            oscost: run.oscost.clone(),
            tags: run.tags.clone(),
            asked: run.asked.clone(),
            rounds: 0,
            results: document.results.len() as u64,
            machine: document.machine_line(),
        };
        Self { summary, machine: document.machine.clone(), began: run.started_seconds() }
    }
}

/// Runs of one machine, build and settings: their figures differ by noise, or by a change that a user wants to know of.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeries {
    /// What distinguishes the series from the others, such as `system gvisor`; empty if there is one series.
    pub name: String,
    /// The value of [`By`], if asked for.
    pub by: Option<String>,
    /// Numbers of runs, in visits in the order of time. Runs of a visit found the machine in the same state.
    pub visits: Vec<Vec<usize>>,
}

impl RunSeries {
    /// Whether a run is one of the series.
    pub fn has(&self, run: usize) -> bool {
        let after = self.visits.partition_point(|visit| visit[0] <= run);
        after.checked_sub(1).is_some_and(|visit| self.visits[visit].contains(&run))
    }
}

/// A change of the machine within a series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactChange {
    /// The fact.
    pub fact: String,
    /// Its value before.
    pub before: String,
    /// Its value afterwards.
    pub after: String,
}

/// Splits runs, given in the order of time, into series; the series of the newest run is the last.
pub fn series_of(runs: &[HistoryRun], by: Option<&By>) -> Vec<RunSeries> {
    let mut keys: Vec<Key> = Vec::new();
    let mut of_key: Vec<Vec<usize>> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        // A run without the tag belongs to no value of it.
        let Some(key) = Key::of(run, by) else { continue };
        if run.summary.tags.contains_key(CONFIRMS) {
            continue;
        }
        match keys.iter().position(|known| *known == key) {
            Some(at) => of_key[at].push(number),
            None => {
                keys.push(key);
                of_key.push(vec![number]);
            }
        }
    }
    let names = names(&keys);
    let mut all: Vec<RunSeries> = keys
        .into_iter()
        .zip(of_key)
        .zip(names)
        .map(|((key, numbers), name)| RunSeries {
            name,
            by: key.by,
            visits: visits_of(runs, &numbers),
        })
        .collect();
    // Values stay in the order in which they first came.
    if by.is_none() {
        all.sort_by_key(|series| series.visits.last().and_then(|visit| visit.last().copied()));
    }
    all
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    by: Option<String>,
    /// Names and values of facts and options.
    values: Vec<(&'static str, String)>,
}

impl Key {
    fn of(run: &HistoryRun, by: Option<&By>) -> Option<Self> {
        let is_same = |name: &&&'static str| !MARKED.contains(*name);
        let facts = MACHINE.iter().filter(is_same).chain(&SAME);
        let facts = facts.map(|name| (*name, fact(&run.machine, name)));
        let options =
            OPTIONS.map(|name| (name, run.summary.asked.get(name).cloned().unwrap_or_default()));
        let by = match by {
            Some(by) => Some(by.value(run)?),
            None => None,
        };
        let node = (NODE_TAG, run.summary.tags.get(NODE_TAG).cloned().unwrap_or_default());
        Some(Self { by, values: facts.chain(options).chain([node]).collect() })
    }
}

/// For each key, what distinguishes it from the others.
fn names(keys: &[Key]) -> Vec<String> {
    let differs = |nth: usize| keys.windows(2).any(|two| two[0].values[nth] != two[1].values[nth]);
    let count = keys.first().map_or(0, |key| key.values.len());
    let differing: Vec<usize> = (0..count).filter(|&nth| differs(nth)).collect();
    let name = |key: &Key| {
        let values = differing.iter().map(|&nth| &key.values[nth]);
        let values = values.filter(|(_, value)| !value.is_empty());
        let words = values.map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
        words.collect::<Vec<_>>().join(", ")
    };
    keys.iter().map(name).collect()
}

/// Runs with these numbers, in the order of time, in visits: those that began within ten minutes found the machine in one state.
pub(crate) fn visits_of(runs: &[HistoryRun], numbers: &[usize]) -> Vec<Vec<usize>> {
    let mut visits: Vec<Vec<usize>> = Vec::new();
    for &number in numbers {
        match visits.last_mut() {
            Some(visit) if runs[number].began - runs[visit[0]].began < ONE_VISIT => {
                visit.push(number);
            }
            _ => visits.push(vec![number]),
        }
    }
    visits
}

/// The facts that differ from one run to another, of those that are marked in a history.
pub fn fact_changes(before: &HistoryRun, after: &HistoryRun) -> Vec<FactChange> {
    let changed = MARKED.iter().filter_map(|name| {
        let [old, new] = [before, after].map(|run| fact(&run.machine, name));
        (old != new).then(|| FactChange { fact: (*name).to_owned(), before: old, after: new })
    });
    let tags: BTreeSet<&String> =
        before.summary.tags.keys().chain(after.summary.tags.keys()).collect();
    let of_tags = tags.into_iter().filter_map(|key| {
        let [old, new] =
            [before, after].map(|run| run.summary.tags.get(key).cloned().unwrap_or_default());
        (old != new).then(|| FactChange { fact: format!("tag {key}"), before: old, after: new })
    });
    changed.chain(of_tags).collect()
}

/// A fact of a machine in words; empty if it is not known.
fn fact(machine: &MachineFacts, name: &str) -> String {
    match machine.get(name) {
        None => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
