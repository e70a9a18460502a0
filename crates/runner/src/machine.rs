//! Descriptions of machines: the facts that a run keeps and that `oscost env` shows.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};

use catalog::directory_of;
use measure::cycles::Latency;
use measure::survey::ClockFacts;
use platform::file::filesystem;
use platform::machine::{Fact, Value};
use serde_json::Value as Json;

use crate::plan::Plan;

/// A machine's description; its facts depend on the system.
pub type Description = results::MachineFacts;

/// The version of this program, which each run records.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Key of the checksum of this program.
pub(crate) const BUILD: &str = "oscost_build";
/// Key of the kind of core that single measurements were made on.
pub(crate) const CORE_TYPE: &str = "core_type";
/// Key of the target that this program is built for.
pub(crate) const TARGET: &str = "oscost_target";
/// Key of the commit that this program is built from.
pub(crate) const COMMIT: &str = "oscost_commit";
/// Prefix of the keys that describe the file systems used.
pub(crate) const FILE_SYSTEM: &str = "filesystem.";
/// Value of a fact that could not be determined.
pub(crate) const UNKNOWN: &str = "unknown";

/// The description of a machine with these facts, whose measurements are timed by `clock`.
pub fn description(facts: &[Fact], clock: &ClockFacts) -> Description {
    let mut machine: Description =
        facts.iter().map(|fact| (fact.key.to_owned(), value(&fact.value))).collect();
    machine.insert(BUILD.into(), build().into());
    machine.insert(TARGET.into(), target_in_words().into());
    machine.insert(COMMIT.into(), commit().unwrap_or(UNKNOWN).into());
    machine.insert("clock".into(), clock.name.clone().into());
    machine.insert("clock_cost_ns".into(), rounded(clock.cost.get()).into());
    machine.insert("clock_step_ns".into(), rounded(clock.step.get()).into());
    let tsc = tsc_measured_khz(clock).map_or_else(|| UNKNOWN.into(), Json::from);
    machine.insert("tsc_measured_khz".into(), tsc);
    machine
}

/// The calibrated frequency of the time stamp counter; `None` if another clock is used for timing.
pub fn tsc_measured_khz(clock: &ClockFacts) -> Option<u64> {
    let counts = clock.name == "tsc" && clock.ns_per_tick > 0.0;
    counts.then(|| (1e6 / clock.ns_per_tick).round() as u64)
}

/// Adds the kind of the core of single measurements, the last of `cpus`.
pub(crate) fn add_core_type(machine: &mut Description, cpus: &[usize]) {
    let kind = cpus.last().and_then(|&cpu| platform::machine::core_type(cpu));
    machine.insert(CORE_TYPE.into(), kind.unwrap_or_else(|| UNKNOWN.to_owned()).into());
}

/// How this program was built, in words: its version, commit if known, target triple, linkage and profile.
pub fn build_in_words() -> String {
    let commit = commit().map_or_else(String::new, |commit| format!(", commit {}", short(commit)));
    format!("{VERSION}{commit}, {}", target_in_words())
}

/// The target triple, linkage and profile of this program: `x86_64-unknown-linux-gnu, static, release`.
fn target_in_words() -> String {
    format!("{}, {LINKAGE}, {PROFILE}", env!("OSCOST_TARGET"))
}

/// Whether this program has the C library in itself.
pub(crate) const LINKAGE: &str =
    if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

/// Whether this program is optimised.
pub(crate) const PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

/// The commit that this program is built from; `None` if the build did not know it, as in a developer's tree.
fn commit() -> Option<&'static str> {
    option_env!("OSCOST_COMMIT")
}

/// The first digits of a commit, which are enough to find it.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A checksum that distinguishes builds of one version: of this program's length, beginning and end, which contain the
/// linker's build id and the section offsets. The whole file would take a second in a build with debug information.
pub(crate) fn build() -> String {
    checksum_of_ends().map_or_else(|_| UNKNOWN.into(), |sum| format!("{sum:08x}"))
}

fn checksum_of_ends() -> std::io::Result<u32> {
    const END: u64 = 64 << 10;
    let mut program = std::fs::File::open(std::env::current_exe()?)?;
    let length = program.metadata()?.len();
    let mut ends = Vec::new();
    program.by_ref().take(END).read_to_end(&mut ends)?;
    program.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    program.take(END).read_to_end(&mut ends)?;
    ends.extend_from_slice(&length.to_le_bytes());
    Ok(crc32fast::hash(&ends))
}

fn value(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::Number(number) => (*number).into(),
        Value::Unknown => UNKNOWN.into(),
    }
}

fn rounded(ns: f64) -> f64 {
    (ns * 100.0).round() / 100.0
}

/// Adds the fact how core cycles are counted, or why they are not.
pub fn add_cycle_counting(machine: &mut Description, latency: &Latency) {
    machine.insert("core_cycles".into(), cycle_counting(latency).into());
}

/// How core cycles are counted, or why they are not, in words.
pub fn cycle_counting(latency: &Latency) -> String {
    match latency {
        Latency::Cycles(cycles) => format!("by multiplications of {cycles} cycles"),
        Latency::Unknown(reason) => format!("unavailable: {reason}"),
    }
}

/// The directories in which a plan's points are measured, as their parameters name them.
pub(crate) fn directories(plan: &Plan) -> BTreeSet<&str> {
    plan.points.iter().filter_map(|point| point.params.get("dir")).map(String::as_str).collect()
}

/// Adds the file systems of these directories, which are named like the values of the parameter `dir`.
pub(crate) fn add_file_systems<'a>(
    machine: &mut Description,
    dirs: impl IntoIterator<Item = &'a str>,
) {
    for dir in dirs {
        let Ok(facts) = filesystem::of(&directory_of(dir)) else { continue };
        let mut keep = |fact: &str, value: Json| {
            machine.insert(format!("{FILE_SYSTEM}{dir}.{fact}"), value);
        };
        let text = |fact: Option<String>| fact.map_or_else(|| UNKNOWN.into(), Json::from);
        keep("type", text(facts.kind));
        keep("device", text(facts.device));
        keep("mounted_on", text(facts.mounted_on.map(|path| path.display().to_string())));
        keep("options", text(facts.options));
        keep("block_bytes", facts.room.block_bytes.into());
        keep("free_bytes", facts.room.free_bytes.into());
        keep("free_files", facts.room.free_files.map_or_else(|| UNKNOWN.into(), Json::from));
    }
}

/// The key of the sentinel's quiet ratios in the store: the build and the kind of CPU. `None` if either is unknown.
pub(crate) fn level_key(machine: &Description) -> Option<String> {
    Some(format!("{} {}", known_fact(machine, BUILD)?, kind_of_cpu(machine)?))
}

/// The facts that distinguish kinds of CPUs, as one text; `None` if one of them is unknown.
pub(crate) fn kind_of_cpu(machine: &Description) -> Option<String> {
    const FACTS: [&str; 5] = ["cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "cpu_flags"];
    let known: Option<Vec<String>> =
        FACTS.map(|fact| known_fact(machine, fact)).into_iter().collect();
    known.map(|facts| facts.join(" "))
}

fn known_fact(machine: &Description, fact: &str) -> Option<String> {
    let value = machine.get(fact)?;
    (value.as_str() != Some(UNKNOWN)).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use measure::time::Nanoseconds;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_counters_frequency_is_known_where_it_is_the_clock() {
        let clock = |name: &str| ClockFacts {
            name: name.to_owned(),
            ns_per_tick: 0.4,
            cost: Nanoseconds::new(20.0),
            step: Nanoseconds::new(0.4),
            backward: 0,
        };
        assert_eq!(tsc_measured_khz(&clock("tsc")), Some(2_500_000));
        assert_eq!(tsc_measured_khz(&clock("monotonic")), None);
        let machine = description(&[], &clock("tsc"));
        assert_eq!(machine["tsc_measured_khz"], json!(2_500_000));
    }
}
