//! The list of facts, and their values on a machine.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};
use strum::{IntoStaticStr, VariantArray};

use crate::format::{duration, size};
use Role::{Nuisance, State, Subject};

/// The separator between vulnerabilities in the fact `mitigations`: the kernel's text about each contains commas and
/// semicolons.
pub const MITIGATION_SEPARATOR: &str = " | ";

/// A fact about the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Name in JSON, in snake case.
    pub key: &'static str,
    /// Label in tables.
    pub label: &'static str,
    /// Value.
    pub value: Value,
    /// The group in which the fact is shown.
    pub group: Group,
    /// What a difference in it means.
    pub role: Role,
}

/// What it means for two runs that they differ in a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Another machine, or another way of measuring: figures differ by it, and nobody asked about it.
    Nuisance,
    /// What runs are compared for: a kernel, a setting, a sandbox.
    Subject,
    /// Nothing: it changes by itself, or other facts say the same.
    State,
}

impl Fact {
    /// The value as shown to users: sizes in binary units, durations in days and hours, one vulnerability per line.
    pub fn shown(&self) -> String {
        match (&self.value, self.key) {
            (Value::Number(bytes), key) if key.ends_with("_bytes") => size(*bytes),
            (Value::Number(seconds), key) if key.ends_with("_seconds") => duration(*seconds),
            (Value::Text(all), "mitigations") => all.replace(MITIGATION_SEPARATOR, "\n"),
            (value, _) => value.to_string(),
        }
    }
}

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word or a short phrase; `none` if the thing is known not to exist.
    Text(String),
    /// A number, in the unit at the end of the fact's key.
    Number(u64),
    /// The fact cannot be read on this machine.
    Unknown,
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => out.write_str(text),
            Value::Number(number) => write!(out, "{number}"),
            Value::Unknown => out.write_str("unknown"),
        }
    }
}

impl From<String> for Value {
    /// Converts empty text to `Unknown`.
    fn from(text: String) -> Value {
        if text.is_empty() { Value::Unknown } else { Value::Text(text) }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        text.to_owned().into()
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(found: Option<T>) -> Value {
        found.map_or(Value::Unknown, Into::into)
    }
}

/// The part of the description that a fact belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
pub enum Group {
    /// The kernel, the hardware and hypervisor under it, and the container around it.
    System,
    /// CPUs, caches and their settings.
    #[strum(serialize = "CPU")]
    Cpu,
    /// Clock sources.
    Clock,
    /// Memory and its pages.
    Memory,
    /// Resource limits of this process.
    Limits,
    /// The current state of the machine.
    State,
}

impl Group {
    /// The group's heading.
    pub fn label(self) -> &'static str {
        self.into()
    }
}

/// All facts: key, label, group and role.
pub(super) const FACTS: &[(&str, &str, Group, Role)] = &[
    ("os", "Operating system", Group::System, Subject),
    ("release", "Kernel release", Group::System, Subject),
    ("build", "Kernel build", Group::System, Subject),
    ("kernel_command_line", "Kernel command line", Group::System, Subject),
    ("preempt", "Kernel preemption", Group::System, Subject),
    ("tick_hz", "Timer ticks per second", Group::System, Subject),
    ("lsm", "Security modules", Group::System, Subject),
    ("audit", "Audit", Group::System, Subject),
    ("conntrack", "Connection tracking", Group::System, Subject),
    ("congestion_control", "TCP congestion control", Group::System, Subject),
    ("distribution", "Distribution", Group::System, Subject),
    ("libc", "C library", Group::System, Subject),
    ("allocator", "Allocator (malloc)", Group::System, Subject),
    ("arch", "Architecture", Group::System, Nuisance),
    ("machine_id", "Machine (hash of its id)", Group::System, Nuisance),
    ("hardware", "Hardware", Group::System, Nuisance),
    ("hypervisor", "Hypervisor", Group::System, Nuisance),
    ("compat", "Compatibility layer", Group::System, Subject),
    ("host_kernel", "Kernel under that", Group::System, Subject),
    ("container", "Container", Group::System, Subject),
    ("seccomp", "System call filter", Group::System, Subject),
    ("privileges", "Privileges", Group::System, Subject),
    ("cpu", "Model", Group::Cpu, Nuisance),
    ("cpu_vendor", "Vendor", Group::Cpu, Nuisance),
    ("cpu_family", "Family", Group::Cpu, Nuisance),
    ("cpu_model", "Model number", Group::Cpu, Nuisance),
    ("cpu_stepping", "Stepping", Group::Cpu, Nuisance),
    ("cpu_flags", "Instruction sets", Group::Cpu, Nuisance),
    // This fact sums up the caches below, each of which has a role.
    ("cpu_caches", "Caches", Group::Cpu, State),
    ("core_types", "Core types", Group::Cpu, Nuisance),
    ("microcode", "Microcode", Group::Cpu, Subject),
    ("cpus", "Usable CPUs", Group::Cpu, Nuisance),
    ("cpus_online", "Online CPUs", Group::Cpu, Nuisance),
    ("cores", "Cores", Group::Cpu, Nuisance),
    ("smt", "Hardware threads", Group::Cpu, Subject),
    ("threads_per_core", "Threads per core", Group::Cpu, Nuisance),
    ("numa_nodes", "NUMA nodes", Group::Cpu, Nuisance),
    ("affinity", "Allowed CPUs", Group::Cpu, Nuisance),
    ("cache_l1d", "L1 data cache", Group::Cpu, Nuisance),
    ("cache_l1i", "L1 instruction cache", Group::Cpu, Nuisance),
    ("cache_l2", "L2 cache", Group::Cpu, Nuisance),
    ("cache_l3", "L3 cache", Group::Cpu, Nuisance),
    ("governor", "Frequency governor", Group::Cpu, Subject),
    ("turbo", "Turbo", Group::Cpu, Subject),
    ("mitigations", "Mitigations", Group::Cpu, Subject),
    ("clock_source", "Clock source", Group::Clock, Subject),
    ("clock_sources", "Clock sources", Group::Clock, Subject),
    ("tsc", "Time stamp counter", Group::Clock, Nuisance),
    ("tsc_khz", "TSC frequency (kHz)", Group::Clock, Nuisance),
    ("memory_bytes", "Memory", Group::Memory, Nuisance),
    ("swap_bytes", "Swap", Group::Memory, Subject),
    ("page_size_bytes", "Page size", Group::Memory, Subject),
    ("thp", "Transparent huge pages", Group::Memory, Subject),
    ("huge_pages", "Huge pages", Group::Memory, Subject),
    ("cgroup_cpu", "CPU limit", Group::Limits, Subject),
    ("cgroup_memory", "Memory limit", Group::Limits, Subject),
    ("open_files", "Open files (soft/hard)", Group::Limits, Subject),
    ("processes", "Processes (soft/hard)", Group::Limits, Subject),
    ("locked_memory", "Locked memory (soft/hard)", Group::Limits, Subject),
    ("pid_max", "Highest process id", Group::Limits, Subject),
    ("threads_max", "Threads, all processes", Group::Limits, Subject),
    ("max_map_count", "Mappings per process", Group::Limits, Subject),
    ("somaxconn", "Listen backlog", Group::Limits, Subject),
    ("syn_backlog", "Half-open connections", Group::Limits, Subject),
    ("local_ports", "Local ports", Group::Limits, Subject),
    ("perf_event_paranoid", "perf_event_paranoid", Group::Limits, Subject),
    ("io_uring_disabled", "io_uring_disabled", Group::Limits, Subject),
    ("ptrace_scope", "ptrace_scope", Group::Limits, Subject),
    ("memory_available_bytes", "Memory available", Group::State, State),
    ("load", "Load (1, 5, 15 min)", Group::State, State),
    ("uptime_seconds", "Uptime", Group::State, State),
    ("steal", "Time stolen since boot", Group::State, State),
    ("conntrack_count", "Connections tracked", Group::State, State),
];

/// The role of a fact of [`describe`](super::describe); `None` for other keys.
pub fn role_of(key: &str) -> Option<Role> {
    FACTS.iter().find(|fact| fact.0 == key).map(|fact| fact.3)
}

/// The fact by which one machine is told from others of its kind: a hash of the id that the system gave it, from which that
/// cannot be found (machine-id(5) asks for this).
pub(super) fn hashed_id(id: Option<String>) -> Value {
    const KEY: &str = "oscost machine ";
    /// Bytes that are kept: enough to tell the machines of any fleet apart.
    const KEPT: usize = 8;
    // systemd writes `uninitialized` into the images of machines.
    let id = id.filter(|id| !["", "uninitialized"].contains(&id.trim()));
    let hash = id.map(|id| Sha256::digest(format!("{KEY}{}", id.trim())));
    let digits = |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    hash.map(|hash| digits(&hash[..KEPT])).into()
}

/// The values found on a machine, by key.
#[derive(Debug, Default)]
pub(super) struct Findings(BTreeMap<&'static str, Value>);

impl Findings {
    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        debug_assert!(FACTS.iter().any(|fact| fact.0 == key), "{key} is not in the list of facts");
        self.0.insert(key, value.into());
    }

    /// Adds the sizes of the first CPU's caches; `bytes` returns a cache's size by its name.
    pub(super) fn set_caches(&mut self, bytes: impl Fn(&str) -> Option<u64>) {
        for (key, name) in
            [("cache_l1d", "l1d"), ("cache_l1i", "l1i"), ("cache_l2", "l2"), ("cache_l3", "l3")]
        {
            self.set(key, bytes(name).map(size));
        }
    }

    /// All caches in one phrase: `l1d 48 KiB, l1i 32 KiB, l2 2 MiB`.
    fn caches(&self) -> Option<String> {
        let known = ["l1d", "l1i", "l2", "l3"].into_iter().filter_map(|name| {
            match self.0.get(format!("cache_{name}").as_str()) {
                None | Some(Value::Unknown) => None,
                Some(size) => Some(format!("{name} {size}")),
            }
        });
        let known: Vec<String> = known.collect();
        (!known.is_empty()).then(|| known.join(", "))
    }

    /// The facts in the order of the list; those not found are unknown.
    pub(super) fn into_facts(mut self) -> Vec<Fact> {
        let caches = self.caches();
        self.set("cpu_caches", caches);
        FACTS
            .iter()
            .map(|&(key, label, group, role)| Fact {
                key,
                label,
                value: self.0.remove(key).unwrap_or(Value::Unknown),
                group,
                role,
            })
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The facts of a machine of which only `found` is known.
    pub fn facts(found: &[(&'static str, &str)]) -> Vec<Fact> {
        let mut findings = Findings::default();
        for (key, value) in found {
            findings.set(key, *value);
        }
        findings.into_facts()
    }

    #[test]
    fn a_machine_is_known_by_a_hash_of_its_id() {
        let of = |id: &str| hashed_id(Some(id.to_owned()));
        let one = of("4b1f6a\n");
        assert!(matches!(&one, Value::Text(hash) if hash.len() == 16 && !hash.contains("4b1f")));
        assert_eq!(one, of("4b1f6a"));
        assert_ne!(one, of("4b1f6b"));
        assert_eq!([of(""), of("uninitialized\n"), hashed_id(None)], [const { Value::Unknown }; 3]);
    }

    #[test]
    fn facts_of_a_group_stand_together() {
        let mut groups: Vec<Group> = FACTS.iter().map(|fact| fact.2).collect();
        groups.dedup();
        assert_eq!(groups, Group::VARIANTS);
    }

    #[test]
    fn caches_are_put_together_from_those_known() {
        let caches = |found: &[(&'static str, &str)]| {
            let facts = facts(found);
            facts.into_iter().find(|fact| fact.key == "cpu_caches").unwrap().shown()
        };
        assert_eq!(caches(&[]), "unknown");
        assert_eq!(
            caches(&[("cache_l2", "2 MiB"), ("cache_l1d", "48 KiB")]),
            "l1d 48 KiB, l2 2 MiB"
        );
    }

    #[test]
    fn each_vulnerability_is_shown_on_its_own_line() {
        let facts = facts(&[("mitigations", "a=PTI; on | b=x, y")]);
        let fact = facts.iter().find(|fact| fact.key == "mitigations").unwrap();
        assert_eq!(fact.shown(), "a=PTI; on\nb=x, y");
    }

    #[test]
    fn units_come_from_the_key() {
        let mut findings = Findings::default();
        findings.set("memory_bytes", 8 << 30);
        findings.set("uptime_seconds", 90);
        findings.set("pid_max", 32_768);
        let shown = |key: &str, facts: &[Fact]| {
            let fact = facts.iter().find(|fact| fact.key == key).unwrap();
            fact.shown()
        };
        let facts = findings.into_facts();
        assert_eq!(shown("memory_bytes", &facts), "8 GiB");
        assert_eq!(shown("uptime_seconds", &facts), "1 min");
        assert_eq!(shown("pid_max", &facts), "32768");
        assert_eq!(shown("swap_bytes", &facts), "unknown");
    }

    #[test]
    fn only_the_state_may_differ_without_a_warning() {
        // The caches are compared one by one.
        for (key, _, group, role) in FACTS.iter().filter(|fact| fact.0 != "cpu_caches") {
            assert_eq!(*role != Role::State, *group != Group::State, "{key}");
        }
    }
}
