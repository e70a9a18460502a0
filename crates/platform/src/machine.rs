//! What this machine is: the facts a figure depends on, so that two runs can be told apart.
//!
//! Every operating system answers the same list of keys, in the same order. What cannot be read is
//! [`Value::Unknown`]; nothing is guessed, because a wrong fact beside a right figure misleads more than
//! a missing one.

use std::collections::BTreeMap;
use std::fmt;

mod cpuid;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
mod bsd;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
use bsd as system;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

/// What stands between two vulnerabilities in the fact `mitigations`: the kernel's text about one of them
/// has commas and semicolons of its own.
pub const MITIGATION_SEPARATOR: &str = " | ";

/// A fact about the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name in JSON, in snake case.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// What was found.
    pub value: Value,
    /// Where it belongs on the page.
    pub group: Group,
    /// Whether two runs that differ in it are comparable only with a warning. Compare what
    /// [`Fact::shown`] gives: it is rounded to what matters.
    pub compared: bool,
}

impl Fact {
    /// The value as people read it: sizes in binary units, durations in days and hours, one vulnerability a line.
    pub fn shown(&self) -> String {
        match (&self.value, self.key) {
            (Value::Number(bytes), key) if key.ends_with("_bytes") => size(*bytes),
            (Value::Number(seconds), key) if key.ends_with("_seconds") => duration(*seconds),
            (Value::Text(all), "mitigations") => all.replace(MITIGATION_SEPARATOR, "\n"),
            (value, _) => value.to_string(),
        }
    }
}

/// What a fact says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word or a short phrase; `none` where it is known that there is no such thing.
    Text(String),
    /// A count, in the unit that the key ends in.
    Number(u64),
    /// It could not be read here.
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
    /// Empty text says nothing, so it is unknown.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The kernel, and what lies under and around it.
    System,
    /// Processors, caches and how they are run.
    Cpu,
    /// What tells the time.
    Clock,
    /// Memory and its pages.
    Memory,
    /// How much of each thing this process may have.
    Limits,
    /// How the machine happens to be just now.
    State,
}

impl Group {
    /// All groups, in the order of the description.
    pub const ALL: [Group; 6] =
        [Group::System, Group::Cpu, Group::Clock, Group::Memory, Group::Limits, Group::State];

    /// Its heading for people.
    pub fn label(self) -> &'static str {
        match self {
            Group::System => "System",
            Group::Cpu => "CPU",
            Group::Clock => "Clock",
            Group::Memory => "Memory",
            Group::Limits => "Limits",
            Group::State => "State",
        }
    }
}

/// All facts: key, label, group, and whether runs that differ in it are comparable only with a warning.
const FACTS: &[(&str, &str, Group, bool)] = &[
    ("os", "Operating system", Group::System, true),
    ("release", "Kernel release", Group::System, true),
    ("build", "Kernel build", Group::System, true),
    ("kernel_command_line", "Kernel command line", Group::System, true),
    ("preempt", "Kernel preemption", Group::System, true),
    ("tick_hz", "Timer ticks per second", Group::System, true),
    ("lsm", "Security modules", Group::System, true),
    ("audit", "Audit", Group::System, true),
    ("conntrack", "Connection tracking", Group::System, true),
    ("congestion_control", "TCP congestion control", Group::System, true),
    ("distribution", "Distribution", Group::System, true),
    ("libc", "C library", Group::System, true),
    ("arch", "Architecture", Group::System, true),
    ("hardware", "Hardware", Group::System, true),
    ("hypervisor", "Hypervisor", Group::System, true),
    ("compat", "Compatibility layer", Group::System, true),
    ("host_kernel", "Kernel under that", Group::System, true),
    ("container", "Container", Group::System, true),
    ("seccomp", "System call filter", Group::System, true),
    ("privileges", "Privileges", Group::System, true),
    ("cpu", "Model", Group::Cpu, true),
    ("cpu_vendor", "Vendor", Group::Cpu, true),
    ("cpu_family", "Family", Group::Cpu, true),
    ("cpu_model", "Model number", Group::Cpu, true),
    ("cpu_stepping", "Stepping", Group::Cpu, true),
    ("cpu_flags", "Instruction sets", Group::Cpu, true),
    // Put together from the caches below, each of which is compared.
    ("cpu_caches", "Caches", Group::Cpu, false),
    ("core_types", "Core types", Group::Cpu, true),
    ("microcode", "Microcode", Group::Cpu, true),
    ("cpus", "Usable CPUs", Group::Cpu, true),
    ("cpus_online", "Online CPUs", Group::Cpu, true),
    ("cores", "Cores", Group::Cpu, true),
    ("smt", "Hardware threads", Group::Cpu, true),
    ("threads_per_core", "Threads per core", Group::Cpu, true),
    ("numa_nodes", "NUMA nodes", Group::Cpu, true),
    ("affinity", "Allowed CPUs", Group::Cpu, true),
    ("cache_l1d", "L1 data cache", Group::Cpu, true),
    ("cache_l1i", "L1 instruction cache", Group::Cpu, true),
    ("cache_l2", "L2 cache", Group::Cpu, true),
    ("cache_l3", "L3 cache", Group::Cpu, true),
    ("governor", "Frequency governor", Group::Cpu, true),
    ("turbo", "Turbo", Group::Cpu, true),
    ("mitigations", "Mitigations", Group::Cpu, true),
    ("clock_source", "Clock source", Group::Clock, true),
    ("clock_sources", "Clock sources", Group::Clock, true),
    ("tsc", "Time stamp counter", Group::Clock, true),
    ("tsc_khz", "TSC frequency (kHz)", Group::Clock, true),
    ("memory_bytes", "Memory", Group::Memory, true),
    ("swap_bytes", "Swap", Group::Memory, true),
    ("page_size_bytes", "Page size", Group::Memory, true),
    ("thp", "Transparent huge pages", Group::Memory, true),
    ("huge_pages", "Huge pages", Group::Memory, true),
    ("cgroup_cpu", "CPU limit", Group::Limits, true),
    ("cgroup_memory", "Memory limit", Group::Limits, true),
    ("open_files", "Open files (soft/hard)", Group::Limits, true),
    ("processes", "Processes (soft/hard)", Group::Limits, true),
    ("locked_memory", "Locked memory (soft/hard)", Group::Limits, true),
    ("pid_max", "Highest process id", Group::Limits, true),
    ("threads_max", "Threads, all processes", Group::Limits, true),
    ("max_map_count", "Mappings per process", Group::Limits, true),
    ("somaxconn", "Listen backlog", Group::Limits, true),
    ("syn_backlog", "Half-open connections", Group::Limits, true),
    ("local_ports", "Local ports", Group::Limits, true),
    ("perf_event_paranoid", "perf_event_paranoid", Group::Limits, true),
    ("io_uring_disabled", "io_uring_disabled", Group::Limits, true),
    ("ptrace_scope", "ptrace_scope", Group::Limits, true),
    ("memory_available_bytes", "Memory available", Group::State, false),
    ("load", "Load (1, 5, 15 min)", Group::State, false),
    ("uptime_seconds", "Uptime", Group::State, false),
    ("steal", "Time stolen since boot", Group::State, false),
    ("conntrack_count", "Connections tracked", Group::State, false),
];

/// What one operating system found, by key.
#[derive(Debug, Default)]
struct Findings(BTreeMap<&'static str, Value>);

impl Findings {
    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        debug_assert!(FACTS.iter().any(|fact| fact.0 == key), "{key} is not in the list of facts");
        self.0.insert(key, value.into());
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

    /// The facts in the order of the list; what was not found is unknown.
    fn into_facts(mut self) -> Vec<Fact> {
        let caches = self.caches();
        self.set("cpu_caches", caches);
        FACTS
            .iter()
            .map(|&(key, label, group, compared)| Fact {
                key,
                label,
                value: self.0.remove(key).unwrap_or(Value::Unknown),
                group,
                compared,
            })
            .collect()
    }
}

/// What this machine is: always the same keys in the same order.
pub fn describe() -> Vec<Fact> {
    system::find().into_facts()
}

/// The kind of core that a CPU is, where a processor has several kinds: `performance`, `efficiency`,
/// `capacity 446`; `all alike` where it has one kind; `None` where the system does not tell.
pub fn core_type(cpu: usize) -> Option<String> {
    system::core_type(cpu)
}

/// As [`crate::cpu::emulator`].
pub(crate) fn emulator() -> Option<String> {
    cpuid::here().emulator().or_else(system::emulator)
}

/// FNV-1a, which gives the same 64 bits for the same bytes in every version of this program and on every system
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn stable_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A number of features and a short mark of which ones they are: `103 flags, 0123456789abcdef`.
fn flags_shown(count: u32, hash: u64) -> String {
    format!("{count} flags, {hash:016x}")
}

/// The name it calls itself by in a network, as far as it has one.
pub fn host_name() -> Option<String> {
    os_host_name().filter(|name| !name.is_empty())
}

#[cfg(unix)]
fn os_host_name() -> Option<String> {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is ours and of that length, but for its last byte, which stays 0.
    let told = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&byte| byte == 0)?;
    (told == 0).then(|| String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(windows)]
fn os_host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// The machine as one token without spaces, for file names and the first column of a table:
/// `Linux_6.18.44_x86_64_Intel-Xeon_2cpu_kvm_tsc`.
pub fn line(facts: &[Fact]) -> String {
    let text = |key: &str| {
        facts
            .iter()
            .find(|fact| fact.key == key)
            .map_or("unknown".to_owned(), |fact| fact.value.to_string())
    };
    let below = match (text("compat").as_str(), text("hypervisor").as_str()) {
        ("none", "none") => "bare".to_owned(),
        ("none" | "unknown", hypervisor) => hypervisor.to_lowercase(),
        (compat, _) => compat.to_lowercase(),
    };
    [
        text("os"),
        text("release"),
        text("arch"),
        short_cpu(&text("cpu")),
        format!("{}cpu", text("cpus")),
        below,
        text("clock_source"),
    ]
    .map(|part| token(&part))
    .join("_")
}

/// The CPU's name without the words that every model carries.
fn short_cpu(model: &str) -> String {
    let model = model.split('@').next().unwrap_or_default();
    let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    model
        .split_whitespace()
        .filter(|word| !matches!(*word, "CPU" | "Processor"))
        .collect::<Vec<_>>()
        .join("-")
}

/// `text` in letters, digits and `._+-`; each run of other characters becomes one dash.
fn token(text: &str) -> String {
    let mut token = String::new();
    for character in text.chars() {
        let allowed = character.is_ascii_alphanumeric() || "._+".contains(character);
        if allowed {
            token.push(character);
        } else if !token.ends_with('-') {
            token.push('-');
        }
    }
    match token.trim_matches('-') {
        "" => "unknown".to_owned(),
        token => token.to_owned(),
    }
}

/// A number of bytes in the largest binary unit that it fills: `48 KiB`, `1.5 GiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut below = 0;
    let mut amount = bytes;
    while amount >= 1024 && unit + 1 < UNITS.len() {
        below = amount % 1024;
        amount /= 1024;
        unit += 1;
    }
    match (below * 10 + 512) / 1024 {
        0 => format!("{amount} {}", UNITS[unit]),
        10 => format!("{} {}", amount + 1, UNITS[unit]),
        tenths => format!("{amount}.{tenths} {}", UNITS[unit]),
    }
}

/// A number of seconds as people say it: `3 d 4 h`, `5 h 12 min`, `40 s`.
fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A set of CPU numbers as the kernel writes one: `0-3,8`.
#[cfg(any(target_os = "linux", windows))]
fn cpu_list(mut cpus: Vec<usize>) -> String {
    cpus.sort_unstable();
    cpus.dedup();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => spans.push((cpu, cpu)),
        }
    }
    spans
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// A limit in CPUs, with no more than two decimals: `1.5 CPUs`.
#[cfg(any(target_os = "linux", windows))]
fn cpu_share(cpus: f64) -> String {
    let number = format!("{cpus:.2}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {}", if number == "1" { "CPU" } else { "CPUs" })
}

/// The soft and the hard limit of a resource of this process, as the kernel tells it.
#[cfg(unix)]
macro_rules! resource_limit {
    ($resource:expr) => {{
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place for the answer, and the resource is a constant of libc.
        let status = unsafe { libc::getrlimit($resource, &mut limit) };
        (status == 0).then(|| crate::machine::limit_pair(limit.rlim_cur, limit.rlim_max))
    }};
}
#[cfg(unix)]
use resource_limit;

/// A soft and a hard limit as `soft/hard`.
#[cfg(unix)]
fn limit_pair(soft: libc::rlim_t, hard: libc::rlim_t) -> String {
    let one = |limit| match limit {
        libc::RLIM_INFINITY => "unlimited".to_owned(),
        limit => limit.to_string(),
    };
    format!("{}/{}", one(soft), one(hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(found: &[(&'static str, &str)]) -> Vec<Fact> {
        let mut findings = Findings::default();
        for (key, value) in found {
            findings.set(key, *value);
        }
        findings.into_facts()
    }

    #[test]
    fn every_key_is_there_once_and_in_order() {
        let keys: Vec<&str> = describe().iter().map(|fact| fact.key).collect();
        let listed: Vec<&str> = FACTS.iter().map(|fact| fact.0).collect();
        assert_eq!(keys, listed);
        let mut unique = keys.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), keys.len());
        for key in keys {
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(key.chars().all(snake), "{key}");
        }
    }

    #[test]
    fn facts_of_a_group_stand_together() {
        let mut groups: Vec<Group> = FACTS.iter().map(|fact| fact.2).collect();
        groups.dedup();
        assert_eq!(groups, Group::ALL);
    }

    #[test]
    fn only_the_state_may_differ_without_a_warning() {
        // The caches are compared one by one.
        for (key, _, group, compared) in FACTS.iter().filter(|fact| fact.0 != "cpu_caches") {
            assert_eq!(*compared, *group != Group::State, "{key}");
        }
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
    fn the_hash_is_that_of_its_definition() {
        // From the test vectors of the FNV reference implementation.
        assert_eq!(stable_hash(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(stable_hash(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn each_vulnerability_is_shown_on_its_own_line() {
        let facts = facts(&[("mitigations", "a=PTI; on | b=x, y")]);
        let fact = facts.iter().find(|fact| fact.key == "mitigations").unwrap();
        assert_eq!(fact.shown(), "a=PTI; on\nb=x, y");
    }

    #[test]
    fn line_names_the_machine() {
        let machine = facts(&[
            ("os", "Linux"),
            ("release", "6.18.44"),
            ("arch", "x86_64"),
            ("cpu", "Intel(R) Xeon(R) Processor @ 2.60GHz"),
            ("cpus", "2"),
            ("hypervisor", "KVM/Firecracker"),
            ("compat", "none"),
            ("clock_source", "tsc"),
        ]);
        assert_eq!(line(&machine), "Linux_6.18.44_x86_64_Intel-Xeon_2cpu_kvm-firecracker_tsc");
    }

    #[test]
    fn line_names_the_layer_rather_than_what_is_under_it() {
        let machine = facts(&[("os", "Windows"), ("hypervisor", "KVM"), ("compat", "Wine 8.0")]);
        assert_eq!(line(&machine), "Windows_unknown_unknown_unknown_unknowncpu_wine-8.0_unknown");
        let metal = facts(&[("hypervisor", "none"), ("compat", "none")]);
        assert!(line(&metal).contains("_bare_"), "{}", line(&metal));
    }

    #[test]
    fn line_of_anything_is_one_token() {
        let odd = facts(&[("os", "Ünix\t\"9\" /x"), ("cpu", "@"), ("release", "--")]);
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        for line in [line(&odd), line(&[]), line(&describe())] {
            assert!(line.chars().all(allowed), "{line}");
            assert_eq!(line.matches("__").count(), 0, "{line}");
        }
    }

    #[test]
    fn cpu_names_lose_what_all_of_them_carry() {
        let short = |model| token(&short_cpu(model));
        assert_eq!(short("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"), "Intel-Core-i7-8650U");
        assert_eq!(short("AMD EPYC 7R13 48-Core Processor"), "AMD-EPYC-7R13-48-Core");
        assert_eq!(short("unknown"), "unknown");
    }

    #[test]
    fn sizes_and_durations_are_shown_in_their_largest_unit() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(49_152), "48 KiB");
        assert_eq!(size(491_520 * 1024), "480 MiB");
        assert_eq!(size(24_684_084 * 1024), "23.5 GiB");
        assert_eq!(size(2 * 1024 * 1024 - 1), "2 MiB");
        assert_eq!(size(u64::MAX), "16777216 TiB");
        assert_eq!(duration(40), "40 s");
        assert_eq!(duration(125), "2 min");
        assert_eq!(duration(3 * 3600 + 60), "3 h 1 min");
        assert_eq!(duration(273_601), "3 d 4 h");
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

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn cpu_sets_and_shares_read_like_the_kernels() {
        assert_eq!(cpu_list(vec![]), "");
        assert_eq!(cpu_list(vec![1, 0]), "0-1");
        assert_eq!(cpu_list(vec![0, 2, 3, 4, 8]), "0,2-4,8");
        assert_eq!(cpu_share(1.5), "1.5 CPUs");
        assert_eq!(cpu_share(1.0), "1 CPU");
        assert_eq!(cpu_share(10.0), "10 CPUs");
        assert_eq!(cpu_share(0.25), "0.25 CPUs");
    }
}
