//! Finds facts in which descriptions of machines differ: between compared runs, and between the beginning and the
//! resumption of a run.

use std::collections::BTreeSet;

use analysis::Difference;
use platform::machine::{Fact, MITIGATION_SEPARATOR};
use results::Document;
use serde_json::Value;

use crate::machine::{BUILD, CORE_TYPE, Description, FILE_SYSTEM, UNKNOWN};

/// The keys of the facts that must be equal in comparable runs.
pub(crate) fn compared_keys(facts: &[Fact]) -> Vec<&'static str> {
    let compared = facts.iter().filter(|fact| fact.compared).map(|fact| fact.key);
    compared.chain(["clock"]).collect()
}

/// Differences between compared runs: in facts, in the file systems used, and in the way of measuring. An unknown fact is
/// no difference, since a sandbox hides much of the machine.
pub fn also_differs(runs: &[&Document]) -> Vec<Difference> {
    let facts = platform::machine::describe();
    let mut keys = compared_keys(&facts);
    keys.push(CORE_TYPE);
    let described = runs.iter().flat_map(|run| run.machine.keys().map(String::as_str));
    let file_systems: BTreeSet<&str> = described.filter(|key| is_of_file_system(key)).collect();
    keys.extend(file_systems);
    // A fact that only one description has, of another version or of other directories, is no difference.
    let in_several =
        |key: &&str| runs.iter().filter(|run| run.machine.contains_key(*key)).count() > 1;
    keys.retain(in_several);
    let differences = analysis::also_differs(runs, &keys).into_iter();
    differences.filter(is_known_to_differ).map(shortened).collect()
}

/// Whether two of the values are known and differ.
fn is_known_to_differ(difference: &Difference) -> bool {
    let mut known = difference.values.iter().filter(|value| *value != UNKNOWN);
    let first = known.next();
    known.any(|value| Some(value) != first)
}

/// The facts of a run's description that have changed since the run began; `now` is the current description. File systems
/// are not compared: they are examined only when a run begins.
pub(crate) fn changed_since(begun: &Document, now: &Document, facts: &[Fact]) -> Vec<Difference> {
    let mut keys = compared_keys(facts);
    keys.retain(|key| begun.machine.contains_key(*key));
    analysis::also_differs(&[begun, now], &keys).into_iter().map(shortened).collect()
}

/// Whether a run on the machine `earlier` had the same build, machine and state as one on `now`: `earlier` has every
/// compared fact of `now` with the same value.
pub(crate) fn is_same_state(earlier: &Description, now: &Description, facts: &[Fact]) -> bool {
    let compared = compared_keys(facts);
    let matters = |key: &str| {
        compared.contains(&key) || [BUILD, CORE_TYPE].contains(&key) || is_of_file_system(key)
    };
    let is_known_build = now.get(BUILD).is_some_and(|build| build.as_str() != Some(UNKNOWN));
    let same = |(key, value): (&String, &Value)| earlier.get(key) == Some(value);
    is_known_build && now.iter().filter(|(key, _)| matters(key)).all(same)
}

/// Whether a key is of a lasting property of a file system, not of its free space.
fn is_of_file_system(key: &str) -> bool {
    const LASTING: [&str; 5] = ["type", "device", "mounted_on", "options", "block_bytes"];
    let fact = key.strip_prefix(FILE_SYSTEM).and_then(|rest| rest.rsplit_once('.'));
    fact.is_some_and(|(_, fact)| LASTING.contains(&fact))
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
mod tests {
    use super::*;

    fn run(machine: &[(&str, &str)]) -> Document {
        let machine = machine.iter().map(|(key, value)| ((*key).to_owned(), (*value).into()));
        Document { machine: machine.collect(), ..simulated::document("a", Vec::new()) }
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
        // Facts that were not recorded are unknown, and so no difference.
        assert_eq!(also_differs(&[&run(&[]), &run(&new)]), []);
    }

    #[test]
    fn what_a_sandbox_hides_is_no_difference() {
        let host = run(&[("governor", "performance"), ("lsm", "none"), ("tick_hz", "250")]);
        let hidden = run(&[("governor", "unknown"), ("lsm", "none"), ("tick_hz", "unknown")]);
        let other = run(&[("governor", "powersave"), ("lsm", "none"), ("tick_hz", "250")]);
        assert_eq!(shown(&also_differs(&[&host, &hidden])), [""; 0]);
        let shown = shown(&also_differs(&[&host, &hidden, &other]));
        assert_eq!(shown, ["governor: performance > unknown > powersave"]);
    }

    #[test]
    fn only_the_mitigations_that_differ_are_shown() {
        let with = |text: &'static str| run(&[("mitigations", text)]);
        let base = with("mds=Clear CPU buffers; SMT vulnerable | meltdown=PTI | srbds=Microcode");
        let new = with("mds=Clear CPU buffers; SMT disabled | meltdown=PTI | srbds=Microcode");
        let fewer = with("meltdown=PTI | srbds=Microcode");
        let before = "mitigations: mds=Clear CPU buffers; SMT vulnerable >";
        for (other, after) in
            [(new, "mds=Clear CPU buffers; SMT disabled"), (fewer, "none of these")]
        {
            assert_eq!(shown(&also_differs(&[&base, &other])), [format!("{before} {after}")]);
        }
    }

    #[test]
    fn a_state_is_the_same_if_every_fact_that_is_compared_is_known_to_have_been_equal() {
        let facts = platform::machine::describe();
        let known = [("oscost_build", "ab12"), ("release", "6.1"), ("load", "0.1")];
        let now = [&known[..], &[("filesystem./srv.type", "ext4")]].concat();
        let is_same = |changed: &str, value: Option<&'static str>| {
            let earlier = now.iter().filter_map(|&(key, known)| match key == changed {
                true => Some((key, value?)),
                false => Some((key, known)),
            });
            let earlier = run(&earlier.collect::<Vec<_>>()).machine;
            is_same_state(&earlier, &run(&now).machine, &facts)
        };
        assert!(is_same("none", None));
        assert!(is_same("load", Some("9.0")), "the load is not compared");
        for key in ["oscost_build", "release", "filesystem./srv.type"] {
            assert!(!is_same(key, Some("other")) && !is_same(key, None), "{key}");
        }
        let unknown = run(&[("oscost_build", UNKNOWN)]).machine;
        assert!(!is_same_state(&unknown, &unknown, &facts));
    }

    #[test]
    fn a_run_continues_if_no_recorded_fact_has_changed() {
        let facts = platform::machine::describe();
        let changed = |begun: &[(&str, &str)], now: &[(&str, &str)]| {
            changed_since(&run(begun), &run(now), &facts).into_iter().next().map(|first| first.key)
        };
        let now = [("release", "6.1"), ("lsm", "none"), ("kernel_command_line", "quiet")];
        let begun =
            [("release", "6.1"), ("filesystem./srv.type", "ext4"), ("core_type", "efficiency")];
        assert_eq!(changed(&begun, &now), None);
        let slower = [("release", "6.1"), ("kernel_command_line", "mitigations=auto")];
        assert_eq!(changed(&slower, &now).unwrap(), "kernel_command_line");
    }
}
