//! The kernel's build options and settings, on which the cost of system calls depends.

use super::audit;
use crate::linux::tree::{Tree, option};
use crate::machine::facts::Findings;
use flate2::read::GzDecoder;
use std::io::Read;

/// Adds the facts about the kernel, only if it is Linux itself: what is missing from an emulation means nothing.
pub(super) fn find(findings: &mut Findings, tree: &Tree, release: &str, build: &str) {
    let config = Config::read(tree, release);
    let command_line = tree.text("proc/cmdline").unwrap_or_default();
    let chosen = tree.text("sys/kernel/debug/sched/preempt");
    let preempt = preemption(build, chosen.as_deref(), &command_line, &config);
    findings.set("preempt", preempt);
    findings.set("lsm", security_modules(tree, &config));
    findings.set("audit", audit::state(tree, &command_line));
    findings.set("conntrack", connection_tracking(tree));
}

/// The kernel's build options, if available: lines such as `CONFIG_PREEMPT=y`.
struct Config(Option<String>);

impl Config {
    fn read(tree: &Tree, release: &str) -> Config {
        let own = || {
            // Ten times the length of a current configuration.
            const LONGEST_BYTES: u64 = 4 << 20;
            let packed = tree.bytes("proc/config.gz")?;
            let mut text = String::new();
            let unpacked = GzDecoder::new(packed.as_slice()).take(LONGEST_BYTES);
            { unpacked }.read_to_string(&mut text).ok()?;
            Some(text)
        };
        Config(own().or_else(|| tree.text(&format!("boot/config-{release}"))))
    }

    /// Whether an option is built in; `None` if it is unknown.
    fn has(&self, option: &str) -> Option<bool> {
        let lines = self.0.as_deref()?.lines();
        let mut words = lines.filter_map(|line| line.strip_prefix("CONFIG_")?.strip_suffix("=y"));
        Some(words.any(|word| word == option))
    }

    /// The preemption model that was chosen when the kernel was built.
    fn preemption(&self) -> Option<&'static str> {
        const MODELS: [(&str, &str); 5] = [
            ("PREEMPT_RT", "real-time"),
            ("PREEMPT_LAZY", "lazy"),
            ("PREEMPT", "full"),
            ("PREEMPT_VOLUNTARY", "voluntary"),
            ("PREEMPT_NONE", "none"),
        ];
        MODELS.iter().find(|(option, _)| self.has(option) == Some(true)).map(|(_, model)| *model)
    }
}

/// The kernel's preemption model. The version names it roughly; a dynamic kernel's current choice is in the scheduler's
/// debug file, which few may read, else on its command line, else the one it was built with.
fn preemption(build: &str, chosen: Option<&str>, command_line: &str, config: &Config) -> String {
    if build.contains("PREEMPT_DYNAMIC") {
        let requested = || option(command_line, "preempt");
        let choice =
            chosen.and_then(in_parentheses).or_else(requested).or_else(|| config.preemption());
        match choice {
            Some(choice) => format!("dynamic ({choice})"),
            None => "dynamic".to_owned(),
        }
    } else if build.contains("PREEMPT_RT") || build.contains("PREEMPT RT") {
        "real-time".to_owned()
    } else if build.contains("PREEMPT_LAZY") {
        "lazy".to_owned()
    } else if build.contains("PREEMPT") {
        "full".to_owned()
    } else {
        // `uname -v` does not distinguish these two.
        config.preemption().unwrap_or("none or voluntary").to_owned()
    }
}

/// The choice in parentheses in a text such as `none voluntary (full)`.
fn in_parentheses(choices: &str) -> Option<&str> {
    choices.split_once('(')?.1.split_once(')').map(|pair| pair.0)
}

/// Parameters of the kernel on which figures depend, with `_` for `-`: kernel-parameters.rst of Linux.
const PARAMETERS: &str = "\
    amd_iommu amd_pstate apparmor audit cgroup_disable cgroup_enable clearcpuid clocksource debug_pagealloc \
    default_hugepagesz elevator enforcing gather_data_sampling highres hpet hugepages hugepagesz idle indirect_target_selection \
    init_on_alloc init_on_free intel_iommu intel_pstate iommu irqaffinity isolcpus kasan kpti l1d_flush l1tf lockdown lsm \
    maxcpus mds mem mitigations mmio_stale_data nmi_watchdog no5lvl nohpet nohz nohz_full noinvpcid nokaslr nopcid nopti \
    nosmap nosmep nosmt nosoftlockup nospec_store_bypass_disable nospectre_bhb nospectre_v1 nospectre_v2 notsc nowatchdog \
    noxsave no_kvmclock no_timer_check nr_cpus numa numa_balancing page_poison pcie_aspm preempt psi pti \
    randomize_kstack_offset rcu_nocb_poll rcu_nocbs reg_file_data_sampling retbleed schedstats security selinux skew_tick \
    slab_nomerge slub_debug spec_rstack_overflow spec_store_bypass_disable spectre_bhi spectre_v2 spectre_v2_user srbds ssbd \
    swapaccount swiotlb threadirqs thp_anon transparent_hugepage tsa tsc tsx tsx_async_abort vdso vsyscall watchdog_thresh";

/// Parts of the kernel all of whose parameters are kept.
const PARTS: &str = "\
    arm64 cpufreq cpuidle cpuidle_haltpoll haltpoll intel_idle iommu kvm kvm_amd kvm_intel nvme nvme_core page_alloc processor \
    rcupdate rcutree sysctl workqueue zswap";

/// The parameters of a kernel's command line on which figures depend, and the number of the others: these name disks, hosts and
/// what else concerns nobody who reads a document.
pub(super) fn options(command_line: &str) -> String {
    let is_kept = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default().replace('-', "_");
        let in_list = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
        let part = name.split_once('.').map(|(part, _)| part);
        in_list(PARAMETERS, &name) || part.is_some_and(|part| in_list(PARTS, part))
    };
    let of_kernel = command_line.split_whitespace().take_while(|word| *word != "--");
    let kept: Vec<&str> = of_kernel.filter(is_kept).collect();
    let others = match command_line.split_whitespace().count() - kept.len() {
        0 => String::new(),
        1 => "1 other".to_owned(),
        count => format!("{count} others"),
    };
    let parts = [kept.join(" "), others];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" and ")
}

/// The security modules in force, in their order: `lockdown, capability, yama, apparmor`.
fn security_modules(tree: &Tree, config: &Config) -> Option<String> {
    match tree.text("sys/kernel/security/lsm") {
        Some(names) => Some(names.split(',').collect::<Vec<_>>().join(", ")),
        None => (config.has("SECURITY") == Some(false)).then(|| "none".to_owned()),
    }
}

/// Whether connection tracking is loaded, and the size of its table. Loaded tracking does not mean that packets pass it.
fn connection_tracking(tree: &Tree) -> Option<String> {
    match tree.number("proc/sys/net/netfilter/nf_conntrack_max") {
        Some(most) => Some(format!("loaded (at most {most} connections)")),
        None => tree.has("proc/sys/net/ipv4").then(|| "none".to_owned()),
    }
}

/// The frequency of the timer interrupt in Hz, from the resolution of the coarse clock that it advances.
pub(super) fn tick_hz() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is valid for writes.
    let status = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut step) };
    match (status, step.tv_sec) {
        (0, 0) => hertz(u64::try_from(step.tv_nsec).ok()?),
        _ => None,
    }
}

/// The frequency in Hz of a tick of `step_ns`; `None` if no Linux can be built with it.
fn hertz(step_ns: u64) -> Option<u64> {
    const RATES: std::ops::RangeInclusive<u64> = 24..=1200;
    let hertz = (1_000_000_000 + step_ns / 2).checked_div(step_ns)?;
    RATES.contains(&hertz).then_some(hertz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::{Fixture, in_tree};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn config(text: &str) -> Config {
        Config(Some(text.to_owned()))
    }

    #[test]
    fn preemption_is_read_from_the_version() {
        let of = |build, chosen| preemption(build, chosen, "quiet", &Config(None));
        assert_eq!(of("#1 SMP PREEMPT_DYNAMIC", None), "dynamic");
        assert_eq!(of("#1 SMP PREEMPT_DYNAMIC", Some("odd")), "dynamic");
        assert_eq!(
            of("#1 SMP PREEMPT_DYNAMIC", Some("none (voluntary) full")),
            "dynamic (voluntary)"
        );
        assert_eq!(of("#1 SMP PREEMPT_RT", None), "real-time");
        assert_eq!(of("#1 SMP PREEMPT_LAZY", None), "lazy");
        assert_eq!(of("#1 SMP PREEMPT", None), "full");
        assert_eq!(of("#97-Ubuntu SMP", None), "none or voluntary");
    }

    #[test]
    fn preemption_missing_from_the_version_is_read_from_command_line_or_configuration() {
        let built = config(
            "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_PREEMPT is not set\n",
        );
        let dynamic = |chosen, line| preemption("#1 SMP PREEMPT_DYNAMIC", chosen, line, &built);
        assert_eq!(dynamic(None, "quiet"), "dynamic (voluntary)");
        assert_eq!(dynamic(None, "preempt=none quiet preempt=full"), "dynamic (full)");
        assert_eq!(dynamic(Some("none (lazy)"), "preempt=full"), "dynamic (lazy)");
        assert_eq!(dynamic(None, "quiet -- preempt=full"), "dynamic (voluntary)");
        assert_eq!(preemption("#1 SMP", None, "", &built), "voluntary");
        assert_eq!(preemption("#1 SMP", None, "", &config("CONFIG_PREEMPT_NONE=y")), "none");
        assert_eq!(
            preemption("#1 SMP", None, "", &config("CONFIG_PREEMPT_NONE=m")),
            "none or voluntary"
        );
    }

    #[test]
    fn only_parameters_that_figures_depend_on_are_kept_of_a_command_line() {
        let line = "BOOT_IMAGE=/vmlinuz-6.1.0 root=UUID=1234-abcd ro mitigations=off isolcpus=2-3 \n nohz_full=2-3 \
                    processor.max_cstate=1 kvm-intel.nested=0 ip=10.0.0.7 TOKEN=s3cret transparent_hugepage=never -- nosmt";
        let kept = "mitigations=off isolcpus=2-3 nohz_full=2-3 processor.max_cstate=1 kvm-intel.nested=0 \
                    transparent_hugepage=never and 7 others";
        assert_eq!(options(line), kept);
        assert_eq!(options("nosmt"), "nosmt");
        assert_eq!(options("quiet"), "1 other");
        assert_eq!(options(""), "");
    }

    #[test]
    fn the_configuration_is_read_packed_or_plain() {
        let fixture = Fixture::new(&[("boot/config-6.1.0-28", "CONFIG_AUDIT=y\n"), ("proc/x", "")]);
        let tree = Tree::new(fixture.root());
        assert_eq!(Config::read(&tree, "6.1.0-29").has("AUDIT"), None);
        let plain = Config::read(&tree, "6.1.0-28");
        assert_eq!(
            (plain.has("AUDIT"), plain.has("AUDI"), plain.has("SECURITY")),
            (Some(true), Some(false), Some(false))
        );
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(b"CONFIG_SECURITY=y\n").unwrap();
        let packed = packed.finish().unwrap();
        std::fs::write(fixture.root().join("proc/config.gz"), &packed).unwrap();
        assert_eq!(Config::read(&tree, "6.1.0-28").has("SECURITY"), Some(true));
        std::fs::write(fixture.root().join("proc/config.gz"), &packed[..12]).unwrap();
        assert_eq!(Config::read(&tree, "6.1.0-29").has("SECURITY"), None);
    }

    #[test]
    fn security_modules_are_listed() {
        let modules = |files: &[(&str, &str)], config: &Config| {
            in_tree(files, |tree| security_modules(tree, config))
        };
        let file = [("sys/kernel/security/lsm", "lockdown,capability,landlock,yama,apparmor")];
        assert_eq!(
            modules(&file, &Config(None)).unwrap(),
            "lockdown, capability, landlock, yama, apparmor"
        );
        assert_eq!(modules(&[], &Config(None)), None);
        assert_eq!(modules(&[], &config("CONFIG_SECURITY=y\n")), None);
        assert_eq!(modules(&[], &config("# CONFIG_SECURITY is not set\n")).unwrap(), "none");
    }

    #[test]
    fn connection_tracking_is_reported_if_there_is_a_network() {
        let tracked = |files: &[(&str, &str)]| in_tree(files, connection_tracking);
        let most = ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
        let ipv4 = ("proc/sys/net/ipv4/ip_forward", "0\n");
        assert_eq!(tracked(&[most, ipv4]).unwrap(), "loaded (at most 262144 connections)");
        assert_eq!(tracked(&[ipv4]).unwrap(), "none");
        assert_eq!(tracked(&[]), None);
    }

    #[test]
    fn ticks_are_rates_that_a_kernel_can_have() {
        assert_eq!(hertz(4_000_000), Some(250));
        assert_eq!(hertz(1_000_000), Some(1000));
        assert_eq!(hertz(3_333_333), Some(300));
        assert_eq!(hertz(10_000_000), Some(100));
        assert_eq!(hertz(1), None);
        assert_eq!(hertz(0), None);
    }
}
