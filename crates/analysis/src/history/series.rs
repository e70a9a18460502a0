//! Which runs make one series, and which of them are one visit.

use std::collections::BTreeSet;

use platform::machine::Role;
use results::{
    CONFIRMS, Document, LAUNCHER, MachineFacts, NODE_TAG, OTHER_TOOL, RunSummary, SYSTEM,
};

use crate::next_run::ONE_VISIT;
use crate::setting::{Described, OPTIONS};

/// Facts that may change within a series of one machine, and are marked where they do.
const MARKED: [&str; 6] =
    ["release", "build", "microcode", "mitigations", "kernel_command_line", "libc"];
/// Facts by which a series is a system's, a build's or another tool's own, though one may compare these.
const OWN: [&str; 7] = [SYSTEM, LAUNCHER, "os", "arch", OTHER_TOOL, "clock", "oscost_build"];
/// Facts that tell series apart in their names, the most telling first.
const NAMING: [&str; 4] = ["cpu", "cpus", "machine_id", "affinity"];

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

/// Splits runs, given in the order of time, into series; the series of the newest run is the last. With `across_machines` the runs
/// of several machines, or of several ways of measuring, are one series.
pub fn series_of(runs: &[HistoryRun], by: Option<&By>, across_machines: bool) -> Vec<RunSeries> {
    // The value by which each series is split, and the numbers of its runs.
    let mut all: Vec<(Option<String>, Vec<usize>)> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        // A run without the tag belongs to no value of it.
        let value = by.map(|by| by.value(run));
        if value == Some(None) || run.summary.tags.contains_key(CONFIRMS) {
            continue;
        }
        let value = value.flatten();
        let is_its = |(known, numbers): &&mut (Option<String>, Vec<usize>)| {
            let newest = &runs[numbers[numbers.len() - 1]];
            *known == value && newest.is_alike(run, across_machines)
        };
        match all.iter_mut().find(is_its) {
            Some((_, numbers)) => numbers.push(number),
            None => all.push((value, vec![number])),
        }
    }
    let newest: Vec<&HistoryRun> =
        all.iter().map(|(_, numbers)| &runs[numbers[numbers.len() - 1]]).collect();
    let names = names(&newest);
    let mut all: Vec<RunSeries> = all
        .into_iter()
        .zip(names)
        .map(|((by, numbers), name)| RunSeries { name, by, visits: visits_of(runs, &numbers) })
        .collect();
    // Values stay in the order in which they first came.
    if by.is_none() {
        all.sort_by_key(|series| series.visits.last().and_then(|visit| visit.last().copied()));
    }
    all
}

impl HistoryRun {
    fn described(&self) -> Described<'_> {
        let RunSummary { id, oscost, asked, tags, .. } = &self.summary;
        Described { id, oscost, machine: &self.machine, asked, tags }
    }

    /// Whether two runs belong to one series.
    fn is_alike(&self, other: &Self, across_machines: bool) -> bool {
        let is_same = |name: &&str| self.machine.get(*name) == other.machine.get(*name);
        OWN.iter().all(is_same)
            && (across_machines || self.described().nuisances(&other.described()).is_empty())
    }
}

/// For each series, by its newest run, what distinguishes it from the others.
fn names(newest: &[&HistoryRun]) -> Vec<String> {
    /// Number of facts in a name.
    const NAMED: usize = 3;
    let node = format!("tag {NODE_TAG}");
    let is_nuisance = |(_, role): &&(&str, Role)| *role == Role::Nuisance;
    let options = OPTIONS.iter().filter(is_nuisance).map(|(option, _)| format!("asked {option}"));
    let facts = OWN.iter().chain(&NAMING).map(|name| (*name).to_owned());
    let known: Vec<String> =
        [node, "oscost".to_owned()].into_iter().chain(facts).chain(options).collect();
    let value = |run: &HistoryRun, name: &str| match name.split_once(' ') {
        Some(("tag", key)) => run.summary.tags.get(key).cloned().unwrap_or_default(),
        Some(("asked", key)) => run.summary.asked.get(key).cloned().unwrap_or_default(),
        _ if name == "oscost" => run.summary.oscost.clone(),
        _ => fact(&run.machine, name),
    };
    let differs =
        |name: &&String| newest.windows(2).any(|two| value(two[0], name) != value(two[1], name));
    let differing: Vec<&String> = known.iter().filter(differs).take(NAMED).collect();
    let name = |run: &&HistoryRun| {
        let values = differing.iter().map(|name| (name, value(run, name)));
        let values = values.filter(|(_, value)| !value.is_empty());
        let words = values.map(|(name, value)| {
            let name = name.trim_start_matches("tag ").trim_start_matches("asked ");
            format!("{} {value}", name.replace('_', " "))
        });
        words.collect::<Vec<_>>().join(", ")
    };
    newest.iter().map(name).collect()
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
