//! What runs differ in besides their figures: the machine and the way of measuring, by which figures differ although nobody asked
//! about it (nuisance), and what runs are compared for, such as a kernel (subject). docs/compare.md has the table.

use std::collections::{BTreeMap, BTreeSet};

use platform::machine::{MITIGATION_SEPARATOR, Role, role_of};
use results::{
    CONFIRMS, Document, GROUP, JOB_TAG, LAUNCHER, MACHINE_ID, MachineFacts, NODE_TAG, OTHER_TOOL,
    RunInfo, SYSTEM,
};
use serde::Serialize;
use serde_json::Value;

/// Prefix of the facts that describe a file system.
const FILE_SYSTEM: &str = "filesystem.";
/// Facts besides those that the platform describes.
const FURTHER: [(&str, Role); 10] = [
    (SYSTEM, Role::Subject),
    (LAUNCHER, Role::Subject),
    (results::PLACEMENT, Role::Subject),
    (results::EMULATED, Role::Subject),
    (OTHER_TOOL, Role::Subject),
    ("clock", Role::Subject),
    ("core_type", Role::Nuisance),
    ("oscost_target", Role::Subject),
    ("oscost_build", Role::Subject),
    ("oscost_commit", Role::Subject),
];
/// Options of a run by which figures differ, and those by which only intervals do.
pub(crate) const OPTIONS: [(&str, Role); 7] = [
    ("slow-down", Role::Nuisance),
    ("scale", Role::Nuisance),
    ("netns", Role::Nuisance),
    ("cpu", Role::Nuisance),
    ("partner-batches", Role::Nuisance),
    ("size", Role::Subject),
    ("precision", Role::Subject),
];
/// Share by which sizes and frequencies differ on one machine: kernels keep more or less of the memory for themselves.
const ABOUT: f64 = 0.05;

/// A fact besides the measured figures that differs between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Key of the fact; `asked OPTION` of an option.
    pub key: String,
    /// Value in each run, the base's first.
    pub values: Vec<String>,
    /// What it means.
    pub role: Role,
}

/// The role of a machine's fact.
pub fn role_of_fact(key: &str) -> Role {
    let further = || FURTHER.iter().find(|(known, _)| *known == key).map(|(_, role)| *role);
    match role_of(key).or_else(further) {
        Some(role) => role,
        None if is_of_file_system(key) => Role::Subject,
        None => Role::State,
    }
}

/// The role of a tag.
pub fn role_of_tag(key: &str) -> Role {
    match key {
        NODE_TAG => Role::Nuisance,
        JOB_TAG | CONFIRMS => Role::State,
        _ => Role::Subject,
    }
}

/// The role of an option of a run.
pub fn role_of_option(key: &str) -> Role {
    OPTIONS.iter().find(|(known, _)| *known == key).map_or(Role::State, |(_, role)| *role)
}

/// Whether a key is of a lasting property of a file system, not of its free space.
pub fn is_of_file_system(key: &str) -> bool {
    const LASTING: [&str; 5] = ["type", "device", "mounted_on", "options", "block_bytes"];
    let fact = key.strip_prefix(FILE_SYSTEM).and_then(|rest| rest.rsplit_once('.'));
    fact.is_some_and(|(_, fact)| LASTING.contains(&fact))
}

/// What is known of a run besides its figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) id: &'a str,
    pub(crate) oscost: &'a str,
    pub(crate) machine: &'a MachineFacts,
    pub(crate) asked: &'a BTreeMap<String, String>,
    pub(crate) tags: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a Document> for Described<'a> {
    fn from(run: &'a Document) -> Self {
        let RunInfo { id, oscost, asked, tags, .. } = &run.run;
        Self { id, oscost, machine: &run.machine, asked, tags }
    }
}

impl Described<'_> {
    fn is_in_turn_with(&self, other: &Self) -> bool {
        let group = self.asked.get(GROUP);
        self.id != other.id && group.is_some() && group == other.asked.get(GROUP)
    }

    /// The differences from another run by which figures differ although nobody asked about them: none between systems measured in
    /// turn.
    pub(crate) fn nuisances(&self, other: &Self) -> Vec<Difference> {
        if self.is_in_turn_with(other) {
            return Vec::new();
        }
        let mut all = differences(&[*self, *other]);
        all.retain(|one| one.role == Role::Nuisance);
        all
    }
}

/// What differs between runs, in the order of their descriptions. A fact that is unknown, or that one run lacks, is no difference: a
/// sandbox hides much of the machine, and versions have other facts.
pub fn also_differs(runs: &[&Document]) -> Vec<Difference> {
    differences(&runs.iter().map(|run| Described::from(*run)).collect::<Vec<_>>())
}

fn differences(runs: &[Described]) -> Vec<Difference> {
    let mut all: Vec<Difference> = Vec::new();
    let mut seen = BTreeSet::new();
    for key in runs.iter().flat_map(|run| run.machine.keys()).filter(|key| seen.insert(*key)) {
        let values: Vec<Option<&Value>> = runs.iter().map(|run| run.machine.get(key)).collect();
        if !are_known_to_differ(key, &values) {
            continue;
        }
        let role = role_of_fact(key);
        if role != Role::State {
            let values = values.into_iter().map(in_words).collect();
            all.push(shortened(Difference { key: key.clone(), values, role }));
        }
    }
    let mut add = |key: String, values: Vec<String>, role: Role| {
        if role != Role::State && values.windows(2).any(|two| two[0] != two[1]) {
            all.push(Difference { key, values, role });
        }
    };
    let versions = runs.iter().map(|run| run.oscost.to_owned()).collect();
    add("oscost".to_owned(), versions, Role::Nuisance);
    for (key, role) in OPTIONS {
        let asked = runs.iter().map(|run| run.asked.get(key).map_or("none", String::as_str));
        add(format!("asked {key}"), asked.map(str::to_owned).collect(), role);
    }
    let node = runs.iter().map(|run| run.tags.get(NODE_TAG).cloned()).collect::<Vec<_>>();
    if let Some(nodes) = node.into_iter().collect::<Option<Vec<_>>>() {
        add(format!("tag {NODE_TAG}"), nodes, role_of_tag(NODE_TAG));
    }
    if are_of_one_host(runs) {
        // Then it is the system that shows its program another processor, or fewer.
        all.iter_mut().filter(|one| !is_of_measuring(one)).for_each(|one| one.role = Role::Subject);
    }
    if all.iter().any(|one| one.key == "os") {
        // Operating systems have ids of their own on one machine.
        all.retain(|one| one.key != MACHINE_ID);
    }
    all
}

/// The differences by which the figures of two runs differ although nobody asked about them, without what `asked` names: none
/// between systems measured in turn.
pub fn nuisances(base: &Document, new: &Document, asked: &[&str]) -> Vec<Difference> {
    if std::ptr::eq(base, new) {
        return Vec::new();
    }
    let mut all = Described::from(base).nuisances(&new.into());
    all.retain(|one| !asked.contains(&one.key.as_str()));
    all
}

/// What nuisances make of a run, and in which facts: `("another machine", "cpu, cpus")`; `None` without any.
pub fn nuisances_in_words(nuisances: &[Difference]) -> Option<(&'static str, String)> {
    /// Number of facts that are named.
    const NAMED: usize = 4;
    let mut keys: Vec<&str> = nuisances.iter().map(|one| one.key.as_str()).collect();
    let more = keys.len().saturating_sub(NAMED);
    keys.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let is = match nuisances.iter().all(is_of_measuring) {
        true => "measured in another way",
        false => "another machine",
    };
    (!keys.is_empty()).then(|| (is, format!("{}{more}", keys.join(", "))))
}

/// Whether the difference is one of the way of measuring, not of the machine.
fn is_of_measuring(difference: &Difference) -> bool {
    difference.key == "oscost" || difference.key.starts_with("asked ")
}

/// Whether several systems of one machine were measured.
fn are_of_one_host(runs: &[Described]) -> bool {
    let id = |run: &Described| run.machine.get(MACHINE_ID).filter(|id| is_known(id)).cloned();
    let system = |run: &Described| [SYSTEM, LAUNCHER].map(|key| run.machine.get(key).cloned());
    let are_in_turn = runs.windows(2).all(|two| two[0].is_in_turn_with(&two[1]));
    let have_one_id =
        runs.windows(2).all(|two| id(&two[0]).is_some() && id(&two[0]) == id(&two[1]));
    let several = runs.windows(2).any(|two| system(&two[0]) != system(&two[1]));
    are_in_turn || (have_one_id && several)
}

fn is_known(value: &Value) -> bool {
    !value.is_null() && *value != "unknown" && *value != ""
}

/// Whether two of the values are known and differ.
fn are_known_to_differ(key: &str, values: &[Option<&Value>]) -> bool {
    let known: Vec<&Value> = values.iter().flatten().copied().filter(|v| is_known(v)).collect();
    let differ = |one: &Value, other: &Value| match one.as_f64().zip(other.as_f64()) {
        Some((one, other)) if key.ends_with("_bytes") || key.ends_with("_khz") => {
            (one - other).abs() > ABOUT * one.abs().max(other.abs())
        }
        _ => one != other,
    };
    known.iter().skip(1).any(|value| differ(known[0], value))
}

fn in_words(value: Option<&Value>) -> String {
    match value {
        None => "unknown".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Reduces the mitigations to those that differ between the runs.
fn shortened(mut difference: Difference) -> Difference {
    if difference.key != "mitigations" {
        return difference;
    }
    let split = |text: &String| -> Vec<String> {
        text.split(MITIGATION_SEPARATOR).map(str::to_owned).collect()
    };
    let lists: Vec<Vec<String>> = difference.values.iter().map(split).collect();
    let differs = |one: &&String| !lists.iter().all(|list| list.contains(one));
    for (value, list) in difference.values.iter_mut().zip(&lists) {
        let own: Vec<&str> = list.iter().filter(differs).map(String::as_str).collect();
        *value = match own.is_empty() {
            true => "none of these".to_owned(),
            false => own.join(MITIGATION_SEPARATOR),
        };
    }
    difference
}

#[cfg(test)]
mod tests;
