//! Processors, their caches, and the kernel's settings for them.

use crate::format::{cpu_list, flags_shown, stable_hash};
use crate::linux::tree::{Tree, cpus_in, field, words};
use crate::machine::cpuid;
use crate::machine::facts::{Findings, MITIGATION_SEPARATOR};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const CPUS: &str = "sys/devices/system/cpu";

/// Adds the facts about processors. `own_kernel`: the kernel is Linux itself; emulated kernels invent some of these facts.
pub(super) fn find(findings: &mut Findings, tree: &Tree, own_kernel: bool) {
    let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
    findings.set("cpu", model(&cpuinfo).or_else(|| cpuid::here().brand()));
    findings.set("microcode", field(&cpuinfo, "microcode"));
    let cores = Cores::read(tree).or_else(|| own_kernel.then(|| Cores::in_cpuinfo(&cpuinfo))?);
    findings.set("cores", cores.as_ref().map(|cores| cores.count));
    let threads_per_core = cores.as_ref().map(|cores| cores.threads_per_core);
    findings.set("threads_per_core", threads_per_core);
    findings.set("smt", smt(tree, threads_per_core));
    let nodes = tree.text("sys/devices/system/node/online");
    let nodes = nodes.and_then(|list| cpus_in(&list));
    findings.set("numa_nodes", nodes.map(|nodes| nodes.len() as u64));
    findings
        .set_caches(|name| cache_bytes(tree, 0, name).or_else(|| cpuid::here().cache_bytes(name)));
    findings.set("governor", governor(tree, own_kernel));
    findings.set("turbo", turbo(tree));
    findings.set("mitigations", mitigations(tree));
    match cpuid::here().identity() {
        Some(identity) => identity.add_to(findings),
        None => find_identity(findings, &cpuinfo),
    }
    let types = CoreTypes::read(tree, &cpuinfo, own_kernel, cpuid::here().is_hybrid());
    findings.set("core_types", types.map(|types| types.shown()));
}

/// Adds the identity of Arm processors, which have no CPUID (Arm ARM, MIDR_EL1).
fn find_identity(findings: &mut Findings, cpuinfo: &str) {
    findings.set("cpu_vendor", field(cpuinfo, "CPU implementer"));
    findings.set("cpu_family", field(cpuinfo, "CPU architecture"));
    findings.set("cpu_model", field(cpuinfo, "CPU part"));
    let version = field(cpuinfo, "CPU variant").zip(field(cpuinfo, "CPU revision"));
    findings
        .set("cpu_stepping", version.map(|(variant, revision)| format!("{variant} {revision}")));
    let features = field(cpuinfo, "Features").or_else(|| field(cpuinfo, "flags"));
    findings.set("cpu_flags", features.map(flags_of));
}

/// The number of features and a hash of them, independent of their order.
fn flags_of(features: &str) -> String {
    let sorted: BTreeSet<&str> = features.split_whitespace().collect();
    let bytes = sorted.iter().flat_map(|flag| flag.bytes().chain([b' ']));
    flags_shown(sorted.len() as u32, stable_hash(bytes))
}

/// The kind of core of a CPU of this machine.
pub fn core_type(cpu: usize) -> Option<String> {
    let tree = Tree::new(Path::new("/"));
    let cpuinfo = tree.text("proc/cpuinfo")?;
    CoreTypes::read(&tree, &cpuinfo, true, cpuid::here().is_hybrid())?.of(cpu)
}

/// The emulator according to files, for processors without CPUID.
pub(crate) fn emulator() -> Option<String> {
    emulator_in_files(&Tree::new(Path::new("/")))
}

fn emulator_in_files(tree: &Tree) -> Option<String> {
    // QEMU gives its invented Arm processor `max` no implementer, and `Q` as its part
    // (target/arm/tcg/cpu64.c); under KVM, a guest sees the numbers of the real processor.
    let cpuinfo = tree.text("proc/cpuinfo")?;
    let made_up = field(&cpuinfo, "CPU implementer") == Some("0x00")
        && field(&cpuinfo, "CPU part") == Some("0x051");
    made_up.then(|| "QEMU (TCG)".to_owned())
}

/// The kinds of cores of a hybrid processor, each with its CPUs; empty if all cores are of one kind.
#[derive(Debug, PartialEq)]
struct CoreTypes(Vec<(String, Vec<usize>)>);

impl CoreTypes {
    /// Reads the kinds of cores. `hybrid`: whether the processor reports that it has several.
    fn read(
        tree: &Tree,
        cpuinfo: &str,
        own_kernel: bool,
        hybrid: Option<bool>,
    ) -> Option<CoreTypes> {
        // Each kind of core of Intel's has a separate performance monitor, with the name given here.
        const MONITORS: [(&str, &str); 3] = [
            ("cpu_core", "performance"),
            ("cpu_atom", "efficiency"),
            ("cpu_lowpower", "low power"),
        ];
        let listed = MONITORS.iter().filter_map(|(monitor, kind)| {
            let cpus = cpus_in(&tree.text(&format!("sys/devices/{monitor}/cpus"))?)?;
            Some(((*kind).to_owned(), cpus))
        });
        let listed: Vec<_> = listed.collect();
        if listed.len() > 1 {
            return Some(CoreTypes(listed));
        }
        let online = cpus_in(&tree.text(&format!("{CPUS}/online"))?)?;
        let mut by_capacity: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for cpu in online {
            if let Some(capacity) = tree.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity")) {
                by_capacity.entry(capacity).or_default().push(cpu);
            }
        }
        if by_capacity.len() > 1 {
            let kinds = by_capacity.into_iter().rev();
            let kinds = kinds.map(|(capacity, cpus)| (format!("capacity {capacity}"), cpus));
            return Some(CoreTypes(kinds.collect()));
        }
        let parts: BTreeSet<&str> =
            cpuinfo.lines().filter(|line| line.starts_with("CPU part")).collect();
        let known_alike = own_kernel && hybrid != Some(true) && parts.len() <= 1;
        known_alike.then(|| CoreTypes(Vec::new()))
    }

    fn shown(&self) -> String {
        let kinds = self.0.iter().map(|(kind, cpus)| format!("{kind} {}", cpu_list(cpus.clone())));
        match self.0.is_empty() {
            true => "all alike".to_owned(),
            false => kinds.collect::<Vec<_>>().join("; "),
        }
    }

    /// The kind of core of `cpu`.
    fn of(&self, cpu: usize) -> Option<String> {
        match self.0.is_empty() {
            true => Some("all alike".to_owned()),
            false => self.0.iter().find(|(_, cpus)| cpus.contains(&cpu)).map(|kind| kind.0.clone()),
        }
    }
}

/// The model's name; `None` for gVisor's `unknown` and User-Mode Linux's `UML`.
fn model(cpuinfo: &str) -> Option<String> {
    let name = field(cpuinfo, "model name")
        .filter(|name| !matches!(*name, "unknown" | "UML"))
        .or_else(|| field(cpuinfo, "cpu model"));
    match name {
        Some(name) => Some(name.to_owned()),
        None => arm_model(cpuinfo),
    }
}

/// The model of an Arm processor, which /proc/cpuinfo gives by numbers only (Arm ARM, MIDR_EL1).
fn arm_model(cpuinfo: &str) -> Option<String> {
    let implementer = field(cpuinfo, "CPU implementer")?;
    let part = field(cpuinfo, "CPU part")?;
    Some(match (implementer, part) {
        ("0x41", "0xd08") => "Arm Cortex-A72".to_owned(),
        ("0x41", "0xd0b") => "Arm Cortex-A76".to_owned(),
        ("0x41", "0xd0c") => "Arm Neoverse-N1".to_owned(),
        ("0x41", "0xd40") => "Arm Neoverse-V1".to_owned(),
        ("0x41", "0xd49") => "Arm Neoverse-N2".to_owned(),
        ("0x41", "0xd4f") => "Arm Neoverse-V2".to_owned(),
        _ => format!("Arm implementer {implementer} part {part}"),
    })
}

/// Cores, each of which runs one or more hardware threads.
#[derive(Debug, PartialEq)]
struct Cores {
    count: u64,
    threads_per_core: u64,
}

impl Cores {
    /// Counts cores by the lists of threads that share one.
    fn read(tree: &Tree) -> Option<Cores> {
        let online = cpus_in(&tree.text(&format!("{CPUS}/online"))?)?;
        let mut cores = BTreeSet::new();
        for cpu in online {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            // Linux before 5.3 had only the second name.
            let threads = ["core_cpus_list", "thread_siblings_list"]
                .into_iter()
                .find_map(|name| cpus_in(&tree.text(&format!("{topology}/{name}"))?))?;
            cores.insert(threads);
        }
        Some(Cores {
            count: cores.len() as u64,
            threads_per_core: cores.iter().map(Vec::len).max()? as u64,
        })
    }

    /// Counts cores by the package and core numbers of each CPU in /proc/cpuinfo.
    fn in_cpuinfo(cpuinfo: &str) -> Option<Cores> {
        let mut threads: Vec<(&str, &str)> = Vec::new();
        for cpu in cpuinfo.split("\n\n").filter(|cpu| !cpu.trim().is_empty()) {
            threads.push((field(cpu, "physical id")?, field(cpu, "core id")?));
        }
        let cores: BTreeSet<_> = threads.iter().collect();
        let most = |core| threads.iter().filter(|thread| *thread == core).count();
        Some(Cores {
            count: cores.len() as u64,
            threads_per_core: cores.iter().map(|core| most(*core)).max()? as u64,
        })
    }
}

fn smt(tree: &Tree, threads_per_core: Option<u64>) -> Option<&'static str> {
    let active = tree.number(&format!("{CPUS}/smt/active"));
    match (active, threads_per_core) {
        (Some(1), _) => Some("on"),
        (Some(0), _) => Some("off"),
        (_, Some(threads)) => Some(if threads > 1 { "on" } else { "off" }),
        _ => None,
    }
}

/// The size in bytes of the cache that facts call `name`, of one of this machine's CPUs.
pub(crate) fn reported_cache_bytes(cpu: usize, name: &str) -> Option<u64> {
    cache_bytes(&Tree::new(Path::new("/")), cpu, name).or_else(|| cpuid::here().cache_bytes(name))
}

fn cache_bytes(tree: &Tree, cpu: usize, name: &str) -> Option<u64> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    tree.names(&folder)?.iter().find_map(|index| {
        let text = |file: &str| tree.text(&format!("{folder}/{index}/{file}"));
        let found = match (text("level")?.as_str(), text("type")?.as_str()) {
            ("1", "Data") => "l1d",
            ("1", "Instruction") => "l1i",
            ("2", "Unified" | "Data") => "l2",
            ("3", "Unified" | "Data") => "l3",
            _ => return None,
        };
        (found == name).then(|| kibibytes(&text("size")?))?
    })
}

/// The bytes of a size such as `49152K`.
fn kibibytes(size: &str) -> Option<u64> {
    let bytes = size.strip_suffix('K')?.parse::<u64>().ok()?;
    bytes.checked_mul(1024).filter(|bytes| *bytes != 0)
}

/// The frequency governors in use; `none` where the kernel does not set the frequency, as in most guests.
fn governor(tree: &Tree, own_kernel: bool) -> Option<String> {
    let online = cpus_in(&tree.text(&format!("{CPUS}/online"))?)?;
    let governors: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| tree.text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")))
        .collect();
    match governors.is_empty() {
        true => own_kernel.then(|| "none".to_owned()),
        false => Some(governors.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

fn turbo(tree: &Tree) -> Option<&'static str> {
    let off = tree.number(&format!("{CPUS}/intel_pstate/no_turbo"));
    let on = tree.number(&format!("{CPUS}/cpufreq/boost"));
    match (off, on) {
        (Some(1), _) | (None, Some(0)) => Some("off"),
        (Some(0), _) | (None, Some(1)) => Some("on"),
        _ => None,
    }
}

/// The kernel's mitigation of each vulnerability of this processor, in the kernel's words.
fn mitigations(tree: &Tree) -> Option<String> {
    let folder = format!("{CPUS}/vulnerabilities");
    let flaws: Vec<String> = tree
        .names(&folder)?
        .into_iter()
        .filter_map(|name| {
            let state = tree.text(&format!("{folder}/{name}"))?;
            let state = words(&state);
            let done = state.strip_prefix("Mitigation: ").unwrap_or(&state);
            (state != "Not affected").then(|| format!("{name}={done}"))
        })
        .collect();
    Some(match flaws.is_empty() {
        true => "none needed".to_owned(),
        false => flaws.join(MITIGATION_SEPARATOR),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::{Fixture, in_tree};

    /// Two cores with two threads each, as on a small bare-metal machine.
    const METAL: &[(&str, &str)] = &[
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1,3\n"),
        ("sys/devices/system/cpu/cpu2/topology/core_cpus_list", "0,2\n"),
        ("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "1,3\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index1/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction\n"),
        ("sys/devices/system/cpu/cpu0/cache/index1/size", "32K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index2/level", "2\n"),
        ("sys/devices/system/cpu/cpu0/cache/index2/type", "Unified\n"),
        ("sys/devices/system/cpu/cpu0/cache/index2/size", "1280K\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("sys/devices/system/cpu/vulnerabilities/retbleed", "Vulnerable\n"),
        (
            "sys/devices/system/cpu/vulnerabilities/mds",
            "Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown\n",
        ),
        (
            "sys/devices/system/cpu/vulnerabilities/spectre_v2",
            "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling\n",
        ),
    ];

    #[test]
    fn bare_metal_is_described() {
        let fixture = Fixture::new(METAL);
        let tree = Tree::new(fixture.root());
        let cores = Cores::read(&tree).unwrap();
        assert_eq!(cores, Cores { count: 2, threads_per_core: 2 });
        assert_eq!(smt(&tree, None), Some("on"));
        assert_eq!(cache_bytes(&tree, 0, "l1d"), Some(48 << 10));
        assert_eq!(cache_bytes(&tree, 0, "l1i"), Some(32 << 10));
        assert_eq!(cache_bytes(&tree, 0, "l2"), Some(1280 << 10));
        assert_eq!(cache_bytes(&tree, 0, "l3"), None);
        assert_eq!(governor(&tree, true).unwrap(), "performance, powersave");
        assert_eq!(turbo(&tree), Some("on"));
        assert_eq!(
            mitigations(&tree).unwrap(),
            "mds=Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown | \
             meltdown=PTI | retbleed=Vulnerable | \
             spectre_v2=Enhanced / Automatic IBRS; IBPB: conditional; RSB filling"
        );
    }

    #[test]
    fn a_guest_has_no_governor_and_an_emulated_kernel_reports_none() {
        let fixture = Fixture::new(&[("sys/devices/system/cpu/online", "0\n")]);
        let tree = Tree::new(fixture.root());
        assert_eq!(governor(&tree, true).unwrap(), "none");
        assert_eq!(governor(&tree, false), None);
        assert_eq!(turbo(&tree), None);
        assert_eq!(mitigations(&tree), None);
        assert_eq!(Cores::read(&tree), None);
    }

    #[test]
    fn a_processor_without_flaws_needs_no_mitigation() {
        let file = "sys/devices/system/cpu/vulnerabilities/meltdown";
        assert_eq!(in_tree(&[(file, "Not affected\n")], mitigations).unwrap(), "none needed");
    }

    #[test]
    fn cores_are_counted_in_cpuinfo() {
        let cpu = |package, core| {
            format!("processor: 0\nphysical id\t: {package}\ncore id\t\t: {core}\n")
        };
        let cpuinfo = [cpu(0, 0), cpu(0, 0), cpu(1, 0), cpu(1, 0)].join("\n");
        let cores = Cores::in_cpuinfo(&cpuinfo).unwrap();
        assert_eq!(cores, Cores { count: 2, threads_per_core: 2 });
        assert_eq!(Cores::in_cpuinfo("processor\t: 0\nflags\t: fpu\n"), None);
        assert_eq!(Cores::in_cpuinfo(""), None);
    }

    #[test]
    fn models_have_names() {
        assert_eq!(
            model("model\t: 1\nmodel name\t: AMD EPYC 7R13 Processor\n").unwrap(),
            "AMD EPYC 7R13 Processor"
        );
        assert_eq!(model("model name\t: unknown\n"), None);
        assert_eq!(model("vendor_id\t: User Mode Linux\nmodel name\t: UML\n"), None);
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(model(arm).unwrap(), "Arm Neoverse-N1");
        let other = "CPU implementer\t: 0x61\nCPU part\t: 0x022\n";
        assert_eq!(model(other).unwrap(), "Arm implementer 0x61 part 0x022");
    }

    fn core_types(files: &[(&str, &str)], cpuinfo: &str) -> Option<CoreTypes> {
        in_tree(files, |tree| CoreTypes::read(tree, cpuinfo, true, Some(false)))
    }

    #[test]
    fn hybrid_processors_have_kinds_of_cores() {
        let alder_lake = [
            ("sys/devices/cpu_core/cpus", "0-15\n"),
            ("sys/devices/cpu_atom/cpus", "16-23\n"),
            ("sys/devices/system/cpu/online", "0-23\n"),
        ];
        let types = core_types(&alder_lake, "").unwrap();
        assert_eq!(types.shown(), "performance 0-15; efficiency 16-23");
        assert_eq!(types.of(3).unwrap(), "performance");
        assert_eq!(types.of(16).unwrap(), "efficiency");
        assert_eq!(types.of(24), None);
        let big_little = [
            ("sys/devices/system/cpu/online", "0-2\n"),
            ("sys/devices/system/cpu/cpu0/cpu_capacity", "446\n"),
            ("sys/devices/system/cpu/cpu1/cpu_capacity", "1024\n"),
            ("sys/devices/system/cpu/cpu2/cpu_capacity", "446\n"),
        ];
        let types = core_types(&big_little, "").unwrap();
        assert_eq!(types.shown(), "capacity 1024 1; capacity 446 0,2");
        assert_eq!(types.of(2).unwrap(), "capacity 446");
    }

    #[test]
    fn cores_are_of_one_kind_unless_reported_otherwise() {
        let online = [("sys/devices/system/cpu/online", "0-1\n")];
        let same = "CPU part\t: 0xd0c\n\nCPU part\t: 0xd0c\n";
        for cpuinfo in ["", same] {
            let types = core_types(&online, cpuinfo).unwrap();
            assert_eq!(types.shown(), "all alike");
            assert_eq!(types.of(1).unwrap(), "all alike");
        }
        assert_eq!(core_types(&online, "CPU part\t: 0xd05\n\nCPU part\t: 0xd0a\n"), None);
        assert_eq!(core_types(&[], ""), None);
        for (own_kernel, is_hybrid) in [(true, Some(true)), (false, None)] {
            let types = in_tree(&online, |tree| CoreTypes::read(tree, "", own_kernel, is_hybrid));
            assert_eq!(types, None, "{own_kernel} {is_hybrid:?}");
        }
    }

    #[test]
    fn arm_processors_are_identified_by_their_numbers() {
        let cpuinfo = "processor\t: 0\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n\
            CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n";
        let mut findings = Findings::default();
        find_identity(&mut findings, cpuinfo);
        let facts = findings.into_facts();
        let shown = |key: &str| facts.iter().find(|fact| fact.key == key).unwrap().shown();
        assert_eq!(shown("cpu_vendor"), "0x41");
        assert_eq!(shown("cpu_family"), "8");
        assert_eq!(shown("cpu_model"), "0xd0c");
        assert_eq!(shown("cpu_stepping"), "0x3 1");
        assert!(shown("cpu_flags").starts_with("3 flags, "));
        assert_eq!(shown("cpu_flags"), flags_of("evtstrm fp asimd"));
        assert_ne!(shown("cpu_flags"), flags_of("evtstrm fp asimdx"));
        let mut findings = Findings::default();
        find_identity(&mut findings, "processor\t: 0\n");
        assert!(findings.into_facts().iter().all(|fact| fact.shown() == "unknown"));
    }

    #[test]
    fn a_made_up_arm_processor_is_emulated() {
        let emulated = |cpuinfo: &str| in_tree(&[("proc/cpuinfo", cpuinfo)], emulator_in_files);
        let max = "CPU implementer\t: 0x00\nCPU architecture: 8\nCPU part\t: 0x051\n";
        assert_eq!(emulated(max).unwrap(), "QEMU (TCG)");
        assert_eq!(emulated("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), None);
        assert_eq!(emulated("odd"), None);
    }
}
