//! Linux: `/proc`, `/sys`, a few system calls, and CPUID.

use super::cpuid;
use super::facts::{Findings, Value, hashed_id};
use crate::format::{cpu_list, resource_limit, size};
use crate::linux::cgroup;
use crate::linux::tree::{Tree, cpus_in, field, words};
use std::ffi::CStr;
use std::path::Path;

mod audit;
mod cpu;
mod host;
mod kernel;

pub use cpu::core_type;
pub(super) use cpu::{emulator, reported_cache_bytes};

pub(super) fn find() -> Findings {
    find_under(Path::new("/"))
}

/// Reads the files under `root`; system calls and CPUID always describe this machine.
fn find_under(root: &Path) -> Findings {
    let tree = Tree::new(root);
    let uname = Uname::read(&tree);
    let compat = host::compat(&tree, &uname.release, &uname.build);
    let own_kernel = compat.as_deref() == Some("none");
    let mut findings = Findings::default();
    find_system(&mut findings, &tree, &uname, compat);
    cpu::find(&mut findings, &tree, own_kernel);
    find_affinity(&mut findings, &tree);
    find_clock(&mut findings, &tree);
    find_memory(&mut findings, &tree);
    find_limits(&mut findings, &tree, own_kernel);
    find_state(&mut findings, &tree);
    findings
}

/// The kernel's name and version. Files have precedence over uname(2), since tests can replace them.
struct Uname {
    os: String,
    release: String,
    build: String,
    arch: String,
}

impl Uname {
    fn read(tree: &Tree) -> Uname {
        // SAFETY: utsname is plain arrays of characters, for which zeros are valid.
        let mut name: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: `name` is valid for writes.
        let failed = unsafe { libc::uname(&mut name) } != 0;
        let text = |characters: &[libc::c_char]| match failed {
            true => String::new(),
            // SAFETY: the kernel ends each field with a zero, and the array outlives the call.
            false => unsafe { CStr::from_ptr(characters.as_ptr()) }.to_string_lossy().into_owned(),
        };
        let kernel = |file: &str| tree.text(&format!("proc/sys/kernel/{file}"));
        Uname {
            os: kernel("ostype").unwrap_or_else(|| text(&name.sysname)),
            release: kernel("osrelease").unwrap_or_else(|| text(&name.release)),
            build: kernel("version").unwrap_or_else(|| text(&name.version)),
            arch: text(&name.machine),
        }
    }
}

fn find_system(findings: &mut Findings, tree: &Tree, uname: &Uname, compat: Option<String>) {
    findings.set("os", uname.os.as_str());
    findings.set("release", uname.release.as_str());
    findings.set("build", uname.build.as_str());
    findings.set("arch", uname.arch.as_str());
    if compat.as_deref() == Some("none") {
        kernel::find(findings, tree, &uname.release, &uname.build);
    }
    let command_line = tree.text("proc/cmdline");
    findings.set("kernel_command_line", command_line.as_deref().map(kernel::options));
    findings.set("tick_hz", kernel::tick_hz());
    let congestion_control = tree.text("proc/sys/net/ipv4/tcp_congestion_control");
    findings.set("congestion_control", congestion_control);
    findings.set("distribution", distribution(tree));
    findings.set("libc", c_library());
    findings.set("allocator", crate::memory::allocator::name());
    findings.set("machine_id", hashed_id(tree.text("etc/machine-id")));
    findings.set("hardware", host::hardware(tree));
    findings.set("hypervisor", host::hypervisor(tree));
    let gvisor = compat.as_deref() == Some("gVisor");
    let environment = |name: &str| std::env::var(name).ok();
    findings.set("container", host::container(tree, gvisor, environment));
    if compat.as_deref() == Some("none") {
        findings.set("host_kernel", "none");
    }
    findings.set("compat", compat);
    let status = tree.text("proc/self/status").unwrap_or_default();
    findings.set("seccomp", seccomp(&status));
    let last_capability = tree.number("proc/sys/kernel/cap_last_cap");
    let user = crate::user::own_user();
    findings.set("privileges", privileges(user, &status, last_capability));
}

/// The choice in `always [madvise] never`.
fn bracketed(choices: &str) -> Option<&str> {
    choices.split_once('[')?.1.split_once(']').map(|pair| pair.0)
}

/// PRETTY_NAME of os-release(5), whose file is in either of two places.
fn distribution(tree: &Tree) -> Option<String> {
    let text =
        ["etc/os-release", "usr/lib/os-release"].into_iter().find_map(|path| tree.text(path))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let quotes: &[char] = &['"', '\''];
    Some(value.trim().trim_matches(quotes).to_owned())
}

#[cfg(target_env = "gnu")]
fn c_library() -> Option<String> {
    // SAFETY: the function takes nothing and gives a string that lasts as long as the program.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let linked = if cfg!(target_feature = "crt-static") { " (static)" } else { "" };
    Some(format!("glibc {}{linked}", version.to_string_lossy()))
}

/// The C library and its version, which musl does not report at run time.
#[cfg(target_env = "musl")]
fn c_library() -> Option<String> {
    Some("musl".to_owned())
}

#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
fn c_library() -> Option<String> {
    None
}

/// The seccomp filters that each system call of this process passes through.
fn seccomp(status: &str) -> Option<String> {
    let filters = field(status, "Seccomp_filters").filter(|count| *count != "0");
    Some(match (field(status, "Seccomp")?, filters) {
        ("0", _) => "none".to_owned(),
        ("1", _) => "strict".to_owned(),
        ("2", Some(count)) => format!("filter ({count})"),
        ("2", None) => "filter".to_owned(),
        _ => return None,
    })
}

/// Whether the user is root, and has all capabilities: containers remove most of them.
fn privileges(user: u32, status: &str, last_capability: Option<u64>) -> String {
    let name = if user == 0 { "root" } else { "user" };
    let held = field(status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    match (held, last_capability) {
        (Some(held), Some(last)) => {
            let all = last + 1;
            format!("{name} ({} of {all} capabilities)", held.count_ones())
        }
        _ => name.to_owned(),
    }
}

/// Adds the CPUs that this process may run on, and the number of online CPUs.
fn find_affinity(findings: &mut Findings, tree: &Tree) {
    let online = tree
        .text("sys/devices/system/cpu/online")
        .and_then(|list| cpus_in(&list))
        .map(|cpus| cpus.len() as u64);
    // SAFETY: sysconf only takes a number, and answers one.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    findings.set("cpus_online", online.or(u64::try_from(configured).ok()));
    if let Some(allowed) = affinity() {
        findings.set("cpus", allowed.len() as u64);
        findings.set("affinity", cpu_list(allowed));
    }
}

fn affinity() -> Option<Vec<usize>> {
    // A set larger than that of any kernel (NR_CPUS is at most 8192): the kernel refuses a smaller one.
    const MOST_CPUS: usize = 16_384;
    const BITS: usize = u64::BITS as usize;
    let mut mask = [0_u64; MOST_CPUS / BITS];
    // SAFETY: the mask has the stated length, and aligned at least as a cpu_set_t is.
    let status =
        unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    let allowed = |cpu: &usize| mask[cpu / BITS] & (1 << (cpu % BITS)) != 0;
    (status == 0).then(|| (0..MOST_CPUS).filter(allowed).collect())
}

fn find_clock(findings: &mut Findings, tree: &Tree) {
    let source = |which: &str| {
        let folder = "sys/devices/system/clocksource/clocksource0";
        tree.text(&format!("{folder}/{which}_clocksource"))
    };
    findings.set("clock_source", source("current"));
    findings.set("clock_sources", source("available").as_deref().map(words));
    if cfg!(target_arch = "x86_64") {
        let cpu = cpuid::here();
        let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
        findings.set("tsc", cpu.tsc(&tsc_flags(&cpuinfo)));
        // Google's kernels report the measured value, which is more exact than CPUID's round number.
        let measured = tree.number("sys/devices/system/cpu/cpu0/tsc_freq_khz");
        findings.set("tsc_khz", measured.or_else(|| cpu.tsc_khz()));
    } else {
        findings.set("tsc", "none");
    }
}

/// Flags of the time stamp counter, as the kernel reports them.
fn tsc_flags(cpuinfo: &str) -> Vec<&'static str> {
    const FLAGS: [(&str, &str); 4] = [
        ("constant_tsc", "constant"),
        ("nonstop_tsc", "nonstop"),
        ("tsc_known_freq", "known_freq"),
        ("tsc_reliable", "reliable"),
    ];
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    FLAGS.iter().filter(|(flag, _)| flags.contains(flag)).map(|(_, promise)| *promise).collect()
}

fn find_memory(findings: &mut Findings, tree: &Tree) {
    let meminfo = tree.text("proc/meminfo").unwrap_or_default();
    findings.set("memory_bytes", kilobytes(&meminfo, "MemTotal"));
    findings.set("swap_bytes", kilobytes(&meminfo, "SwapTotal"));
    findings.set("memory_available_bytes", kilobytes(&meminfo, "MemAvailable"));
    findings.set("huge_pages", huge_pages(&meminfo));
    let thp = tree.text("sys/kernel/mm/transparent_hugepage/enabled");
    findings.set("thp", thp.as_deref().and_then(bracketed));
    // SAFETY: sysconf only takes a number, and answers one.
    let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    findings.set("page_size_bytes", u64::try_from(page_size).ok());
}

/// A size in /proc/meminfo, converted to bytes.
fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let number = field(meminfo, name)?.strip_suffix("kB")?.trim();
    number.parse::<u64>().ok()?.checked_mul(1024)
}

/// The number of reserved huge pages, and their size.
fn huge_pages(meminfo: &str) -> Option<String> {
    let count: u64 = field(meminfo, "HugePages_Total")?.parse().ok()?;
    let size = size(kilobytes(meminfo, "Hugepagesize")?);
    Some(match count {
        0 => "none".to_owned(),
        _ => format!("{count} x {size}"),
    })
}

fn find_limits(findings: &mut Findings, tree: &Tree, own_kernel: bool) {
    const SETTINGS: [(&str, &str); 9] = [
        ("pid_max", "kernel/pid_max"),
        ("threads_max", "kernel/threads-max"),
        ("max_map_count", "vm/max_map_count"),
        ("somaxconn", "net/core/somaxconn"),
        ("syn_backlog", "net/ipv4/tcp_max_syn_backlog"),
        ("local_ports", "net/ipv4/ip_local_port_range"),
        ("perf_event_paranoid", "kernel/perf_event_paranoid"),
        ("io_uring_disabled", "kernel/io_uring_disabled"),
        ("ptrace_scope", "kernel/yama/ptrace_scope"),
    ];
    for (key, file) in SETTINGS {
        findings.set(key, setting(tree, &format!("proc/sys/{file}")));
    }
    findings.set("open_files", resource_limit!(libc::RLIMIT_NOFILE));
    findings.set("processes", resource_limit!(libc::RLIMIT_NPROC));
    findings.set("locked_memory", resource_limit!(libc::RLIMIT_MEMLOCK));
    findings.set("cgroup_cpu", cgroup::cpu_limit(tree, own_kernel));
    findings.set("cgroup_memory", cgroup::memory_limit(tree, own_kernel));
}

/// A setting of the kernel: a `Number` if it is one, else `Text`.
fn setting(tree: &Tree, path: &str) -> Value {
    tree.text(path).map_or(Value::Unknown, |text| {
        text.parse().map_or(Value::Text(words(&text)), Value::Number)
    })
}

fn find_state(findings: &mut Findings, tree: &Tree) {
    let load = tree.text("proc/loadavg");
    findings.set("load", load.as_deref().and_then(load_averages));
    let uptime = tree.text("proc/uptime");
    findings.set("uptime_seconds", uptime.as_deref().and_then(whole_seconds));
    let stat = tree.text("proc/stat");
    findings.set("steal", stat.as_deref().and_then(steal));
    findings.set("conntrack_count", tree.number("proc/sys/net/netfilter/nf_conntrack_count"));
}

fn load_averages(loadavg: &str) -> Option<String> {
    let averages: Vec<&str> = loadavg.split_whitespace().take(3).collect();
    let numbers = averages.iter().all(|one| one.parse::<f64>().is_ok());
    (numbers && averages.len() == 3).then(|| averages.join(" "))
}

fn whole_seconds(uptime: &str) -> Option<u64> {
    uptime.split(['.', ' ']).next()?.parse().ok()
}

/// Steal time as a share of all CPU time since boot.
fn steal(stat: &str) -> Option<String> {
    // The columns are user nice system idle iowait irq softirq steal; the guest times after them are part of user and nice.
    const STEAL: usize = 7;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(STEAL + 1).map_while(|ticks| ticks.parse().ok()).collect();
    let stolen = *ticks.get(STEAL)? as f64;
    let all: f64 = ticks.iter().map(|ticks| *ticks as f64).sum();
    (all > 0.0).then(|| format!("{:.2} %", 100.0 * stolen / all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::Fixture;
    use crate::machine::Fact;

    fn shown(facts: &[Fact], key: &str) -> String {
        facts.iter().find(|fact| fact.key == key).unwrap().shown()
    }

    /// The facts of a machine with these files.
    fn facts_of(files: &[(&str, &str)]) -> Vec<Fact> {
        find_under(Fixture::new(files).root()).into_facts()
    }

    #[test]
    fn settings_are_numbers_texts_or_unknown() {
        let fixture = Fixture::new(&[("number", "42\n"), ("range", "32768\t60999\n")]);
        let tree = Tree::new(fixture.root());
        assert_eq!(setting(&tree, "number"), Value::Number(42));
        assert_eq!(setting(&tree, "range"), Value::Text("32768 60999".to_owned()));
        assert_eq!(setting(&tree, "missing"), Value::Unknown);
    }

    #[test]
    fn without_files_their_facts_are_unknown() {
        const LIVE: [&str; 19] = [
            "os",
            "release",
            "build",
            "arch",
            "tick_hz",
            "libc",
            "allocator",
            "hypervisor",
            "container", // variable set by container managers
            "privileges",
            "cpu",
            "cpus",
            "cpus_online",
            "affinity",
            "tsc",
            "tsc_khz",
            "page_size_bytes",
            "open_files",
            "processes",
        ];
        let mut read_from_files = 0;
        for fact in &facts_of(&[]) {
            let live = LIVE.contains(&fact.key)
                || fact.key.starts_with("cache_")
                || fact.key.starts_with("cpu_")
                || fact.key == "locked_memory";
            if !live {
                assert_eq!(fact.value, Value::Unknown, "{}", fact.key);
                read_from_files += 1;
            }
        }
        assert!(read_from_files > 25, "{read_from_files}");
    }

    #[test]
    fn odd_contents_are_unknown_and_never_a_panic() {
        const FILES: [&str; 20] = [
            "proc/cpuinfo",
            "proc/meminfo",
            "proc/stat",
            "proc/loadavg",
            "proc/uptime",
            "proc/self/status",
            "proc/self/cgroup",
            "proc/self/mountinfo",
            "proc/sys/kernel/pid_max",
            "proc/sys/kernel/cap_last_cap",
            "etc/os-release",
            "sys/devices/system/cpu/online",
            "sys/devices/system/cpu/smt/active",
            "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu0/cache/index0/size",
            "sys/devices/system/cpu/cpu0/cache/index0/level",
            "sys/devices/system/cpu/vulnerabilities/meltdown",
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "sys/class/dmi/id/sys_vendor",
        ];
        for content in ["", "\0\0", ":", "- -\n-", "\u{fffd}:\t\u{fffd}", "9999999999999999999999"]
        {
            let files: Vec<(&str, &str)> = FILES.iter().map(|file| (*file, content)).collect();
            let facts = facts_of(&files);
            for key in ["memory_bytes", "load", "steal", "huge_pages", "thp", "cores"] {
                assert_eq!(shown(&facts, key), "unknown", "{key} of {content:?}");
            }
        }
    }

    #[test]
    fn this_machine_is_described() {
        let facts = find().into_facts();
        assert_eq!(shown(&facts, "os"), "Linux");
        for key in ["release", "build", "arch", "cpus", "affinity", "open_files"] {
            assert_ne!(shown(&facts, key), "unknown", "{key}");
        }
    }

    #[test]
    fn a_virtual_machine_is_described() {
        let facts = facts_of(&[
            ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n"),
            ("proc/sys/kernel/osrelease", "6.18.44\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0\n"),
            ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n"),
            ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            (
                "proc/meminfo",
                "MemTotal:       24684084 kB\nMemFree: 1 kB\nMemAvailable:   24293108 kB\nSwapTotal:             0 kB\nHugePages_Total:      16\nHugepagesize:       2048 kB\n",
            ),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/loadavg", "0.52 0.58 0.59 1/389 12345\n"),
            ("proc/uptime", "350735.47 234388.90\n"),
            ("proc/stat", "cpu  1000 0 500 8000 0 0 0 500 0 0\ncpu0 1 2 3\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            (
                "sys/devices/system/clocksource/clocksource0/available_clocksource",
                "tsc kvm-clock \n",
            ),
        ]);
        let expected = [
            ("release", "6.18.44"),
            ("build", "#1 SMP PREEMPT_DYNAMIC @0"),
            ("preempt", "dynamic (full)"),
            ("compat", "none"),
            ("distribution", "Debian GNU/Linux 12 (bookworm)"),
            ("memory_bytes", "23.5 GiB"),
            ("memory_available_bytes", "23.2 GiB"),
            ("swap_bytes", "0 bytes"),
            ("huge_pages", "16 x 2 MiB"),
            ("thp", "madvise"),
            ("load", "0.52 0.58 0.59"),
            ("uptime_seconds", "4 d 1 h"),
            ("steal", "5.00 %"),
            ("local_ports", "32768 60999"),
            ("perf_event_paranoid", "-1"),
            ("clock_source", "tsc"),
            ("clock_sources", "tsc kvm-clock"),
        ];
        for (key, value) in expected {
            assert_eq!(shown(&facts, key), value, "{key}");
        }
    }

    #[test]
    fn gvisor_is_recognized_by_its_kernel_version() {
        let facts = facts_of(&[
            ("proc/sys/kernel/osrelease", "4.4.0\n"),
            ("proc/sys/kernel/version", "#1 SMP Sun Jan 10 15:06:54 PST 2016\n"),
            // gVisor reports each CPU as a separate core, independent of the host.
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: unknown\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu tsc\n\nprocessor\t: 1\nmodel name\t: unknown\nphysical id\t: 0\ncore id\t\t: 1\n",
            ),
            ("proc/self/status", "Name:\toscost\nCapEff:\t00000000a80425fb\nSeccomp:\t0\n"),
            ("sys/devices/system/cpu/online", "0-1\n"),
        ]);
        assert_eq!(shown(&facts, "compat"), "gVisor");
        for key in ["cores", "preempt", "governor"] {
            assert_eq!(shown(&facts, key), "unknown", "{key}");
        }
        assert_ne!(shown(&facts, "cpu"), "unknown model");
    }

    #[test]
    fn seccomp_and_privileges_are_read_from_the_status() {
        let seccomp_of = |status| seccomp(status).unwrap();
        assert_eq!(seccomp_of("Seccomp:\t0\nSeccomp_filters:\t0\n"), "none");
        assert_eq!(seccomp_of("Seccomp:\t2\nSeccomp_filters:\t2\n"), "filter (2)");
        assert_eq!(seccomp_of("Seccomp:\t2\n"), "filter");
        assert_eq!(seccomp("Name:\tx\n"), None);
        let docker = "CapEff:\t00000000a80425fb\n";
        assert_eq!(privileges(0, docker, Some(40)), "root (14 of 41 capabilities)");
        assert_eq!(privileges(1000, "", None), "user");
    }

    #[test]
    fn tsc_flags_are_whole_words() {
        let flags = "flags\t: fpu tsc constant_tsc nonstop_tsc tsc_known_freq tsc_deadline_timer";
        assert_eq!(tsc_flags(flags), ["constant", "nonstop", "known_freq"]);
        assert!(tsc_flags("flags\t: tsc_reliable_not").is_empty());
        assert!(tsc_flags("").is_empty());
    }

    #[test]
    fn steal_needs_all_its_columns() {
        assert_eq!(steal("cpu  1 2 3 4\n"), None);
        assert_eq!(steal("cpu  0 0 0 0 0 0 0 0\n"), None);
        assert_eq!(steal("cpu  10 0 0 80 0 0 0 10 7 0\n").unwrap(), "10.00 %");
    }
}
