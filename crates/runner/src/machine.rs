//! The machine's description, as a run keeps it and as `env` shows it.

use std::collections::BTreeSet;

use analysis::Difference;
use std::io::{Read, Seek, SeekFrom};

use measure::survey::ClockFacts;
use platform::machine::{Fact, MITIGATION_SEPARATOR, Value};
use results::Document;
use serde_json::{Map, Value as Json};

/// The kind of core that single measurements were made on, in a run's description of its machine.
const CORE_TYPE: &str = "core_type";
/// What a run's description of its machine says of the file systems used begins so.
const FILE_SYSTEM: &str = "filesystem.";

/// The facts as JSON, with the clock that measurements are timed by.
pub fn as_json(facts: &[Fact], clock: &ClockFacts) -> Map<String, Json> {
    let mut machine: Map<String, Json> =
        facts.iter().map(|fact| (fact.key.to_owned(), value(&fact.value))).collect();
    machine.insert("oscost_build".into(), build().into());
    machine.insert("clock".into(), clock.name.clone().into());
    machine.insert("clock_cost_ns".into(), rounded(clock.cost.get()).into());
    machine.insert("clock_step_ns".into(), rounded(clock.step.get()).into());
    let tsc = tsc_measured_khz(clock).map_or_else(|| "unknown".into(), Json::from);
    machine.insert("tsc_measured_khz".into(), tsc);
    machine
}

/// The frequency of the time stamp counter as calibrated just now; `None` where another clock is used for timing.
pub fn tsc_measured_khz(clock: &ClockFacts) -> Option<u64> {
    let counts = clock.name == "tsc" && clock.ns_per_tick > 0.0;
    counts.then(|| (1e6 / clock.ns_per_tick).round() as u64)
}

/// Adds the kind of the core that single measurements are made on: the last of `cpus`.
pub fn add_core_type(machine: &mut Map<String, Json>, cpus: &[usize]) {
    let kind = cpus.last().and_then(|&cpu| platform::machine::core_type(cpu));
    machine.insert(CORE_TYPE.into(), kind.unwrap_or_else(|| "unknown".to_owned()).into());
}

/// A checksum of this program's length, beginning and end, which hold the linker's build number and where all parts
/// lie: two builds of one version may differ. All of it would take a second in a build with debug information.
fn build() -> String {
    checksum_of_ends().map_or_else(|_| "unknown".into(), |sum| format!("{sum:08x}"))
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
        Value::Unknown => "unknown".into(),
    }
}

fn rounded(ns: f64) -> f64 {
    (ns * 100.0).round() / 100.0
}

/// The names of the facts in which two comparable runs must agree.
pub fn compared_keys(facts: &[Fact]) -> Vec<&'static str> {
    let compared = facts.iter().filter(|fact| fact.compared).map(|fact| fact.key);
    compared.chain(["clock"]).collect()
}

/// The facts, the file systems used, and the ways of measuring, in which runs that are compared do not all agree.
pub fn also_differs(runs: &[&Document]) -> Vec<Difference> {
    let facts = platform::machine::describe();
    let mut keys = compared_keys(&facts);
    keys.push(CORE_TYPE);
    let described = runs.iter().flat_map(|run| run.machine.keys().map(String::as_str));
    let file_systems: BTreeSet<&str> = described.filter(|key| is_of_file_system(key)).collect();
    keys.extend(file_systems);
    // What only one of them was asked for (by an older version, or with other directories) cannot differ.
    let told = |key: &&str| runs.iter().filter(|run| run.machine.contains_key(*key)).count() > 1;
    keys.retain(told);
    analysis::also_differs(runs, &keys).into_iter().map(shortened).collect()
}

/// What has changed since a run was begun of that which its description tells; `now` describes the present. File
/// systems are not among it: they are only looked at when a run begins.
pub fn changed_since(begun: &Document, now: &Document, facts: &[Fact]) -> Option<Difference> {
    let mut keys = compared_keys(facts);
    keys.retain(|key| begun.machine.contains_key(*key));
    analysis::also_differs(&[begun, now], &keys).into_iter().map(shortened).next()
}

/// Whether a key tells what a file system is, rather than how full it happens to be.
fn is_of_file_system(key: &str) -> bool {
    const LASTING: [&str; 5] = ["type", "device", "mounted_on", "options", "block_bytes"];
    let fact = key.strip_prefix(FILE_SYSTEM).and_then(|rest| rest.rsplit_once('.'));
    fact.is_some_and(|(_, fact)| LASTING.contains(&fact))
}

/// Of the mitigations, only those that are not the same in all runs.
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
mod tests {
    use super::*;
    use measure::time::Nanoseconds;
    use serde_json::json;

    fn run(machine: &[(&str, &str)]) -> Document {
        let machine: Map<String, Json> =
            machine.iter().map(|(key, value)| ((*key).to_owned(), Json::from(*value))).collect();
        let run = json!({"id": "a", "started": "2026-01-01T00:00:00Z", "seed": 1, "oscost": "1"});
        let run = json!({"schema": results::SCHEMA, "run": run, "machine": machine, "results": []});
        serde_json::from_value(run).unwrap()
    }

    fn shown(differences: &[Difference]) -> Vec<String> {
        differences.iter().map(|d| format!("{}: {}", d.key, d.values.join(" > "))).collect()
    }

    #[test]
    fn file_systems_that_differ_are_listed_and_how_full_they_are_is_not() {
        let on = |kind: &'static str, free: &'static str| {
            run(&[
                ("filesystem./srv/a.b.type", kind),
                ("filesystem./srv/a.b.options", "rw"),
                ("filesystem./srv/a.b.free_bytes", free),
                ("lsm", "none"),
            ])
        };
        let (ext4, xfs) = (on("ext4", "1"), on("xfs", "2"));
        assert_eq!(shown(&also_differs(&[&ext4, &xfs])), ["filesystem./srv/a.b.type: ext4 > xfs"]);
        assert_eq!(shown(&also_differs(&[&ext4, &on("ext4", "3")])), [""; 0]);
        let elsewhere = run(&[("filesystem./mnt.type", "xfs"), ("lsm", "none")]);
        assert_eq!(shown(&also_differs(&[&ext4, &elsewhere])), [""; 0]);
    }

    #[test]
    fn facts_of_the_kernel_and_the_core_are_listed() {
        let base = [
            ("kernel_command_line", "quiet"),
            ("tick_hz", "250"),
            ("preempt", "full"),
            ("lsm", "none"),
            ("audit", "off"),
            ("conntrack", "none"),
            ("congestion_control", "cubic"),
            ("core_type", "performance"),
            ("cpu_flags", "3 flags, 0"),
        ];
        let new = base.map(|(key, _)| (key, "other"));
        assert_eq!(also_differs(&[&run(&base), &run(&new)]).len(), base.len());
        // An older version did not record them, so that they differ is not known.
        assert_eq!(also_differs(&[&run(&[]), &run(&new)]), []);
    }

    #[test]
    fn only_the_mitigations_that_differ_are_told() {
        let with = |text: &'static str| run(&[("mitigations", text)]);
        let base = with("mds=Clear CPU buffers; SMT vulnerable | meltdown=PTI | srbds=Microcode");
        let new = with("mds=Clear CPU buffers; SMT disabled | meltdown=PTI | srbds=Microcode");
        assert_eq!(
            shown(&also_differs(&[&base, &new])),
            [
                "mitigations: mds=Clear CPU buffers; SMT vulnerable > mds=Clear CPU buffers; SMT disabled"
            ]
        );
        let fewer = with("meltdown=PTI | srbds=Microcode");
        assert_eq!(
            shown(&also_differs(&[&base, &fewer])),
            ["mitigations: mds=Clear CPU buffers; SMT vulnerable > none of these"]
        );
    }

    #[test]
    fn a_run_goes_on_where_nothing_that_it_recorded_has_changed() {
        let facts = platform::machine::describe();
        let changed = |begun: &[(&str, &str)], now: &[(&str, &str)]| {
            changed_since(&run(begun), &run(now), &facts).map(|first| first.key)
        };
        let now = [("release", "6.1"), ("lsm", "none"), ("kernel_command_line", "quiet")];
        let begun =
            [("release", "6.1"), ("filesystem./srv.type", "ext4"), ("core_type", "efficiency")];
        assert_eq!(changed(&begun, &now), None);
        let slower = [("release", "6.1"), ("kernel_command_line", "mitigations=auto")];
        assert_eq!(changed(&slower, &now).unwrap(), "kernel_command_line");
    }

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
        let machine = as_json(&[], &clock("tsc"));
        assert_eq!(machine["tsc_measured_khz"], json!(2_500_000));
    }
}
