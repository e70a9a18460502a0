//! FreeBSD and macOS: sysctl by name, a few system calls, and CPUID.

use super::cpuid;
use super::facts::{Findings, hashed_id};
use crate::format::resource_limit;
use std::ffi::CString;
use std::time::{SystemTime, UNIX_EPOCH};

/// Reports only whether the processor has one kind of core.
pub fn core_type(_cpu: usize) -> Option<String> {
    (cpuid::here().is_hybrid() == Some(false)).then(|| "all alike".to_owned())
}

/// Detects Rosetta, which translates programs for another processor unnoticed by them.
pub(super) fn emulator() -> Option<String> {
    // The name does not exist on machines that never translate, nor on FreeBSD.
    (number("sysctl.proc_translated") == Some(1)).then(|| "Rosetta 2".to_owned())
}

/// The size of the cache that facts call `name`, as reported by macOS (FreeBSD reports none) or CPUID.
pub(super) fn reported_cache_bytes(_cpu: usize, name: &str) -> Option<u64> {
    let reported = number(&format!("hw.{name}cachesize")).filter(|bytes| *bytes != 0);
    reported.or_else(|| cpuid::here().cache_bytes(name))
}

pub(super) fn find() -> Findings {
    let mut findings = Findings::default();
    find_system(&mut findings);
    findings.set("allocator", crate::memory::allocator::name());
    find_cpu(&mut findings);
    find_clock(&mut findings);
    find_memory(&mut findings);
    find_limits(&mut findings);
    find_state(&mut findings);
    findings
}

/// The bytes of a sysctl, at most `N` of them.
fn sysctl<const N: usize>(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut value = [0_u8; N];
    let mut length = N;
    // SAFETY: the name ends with NUL, `value` has the length `length`, and nothing is set.
    let status = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            &mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    (status == 0).then(|| value[..length.min(N)].to_vec())
}

fn text(name: &str) -> Option<String> {
    let value = sysctl::<1024>(name)?;
    let value = value.split(|byte| *byte == 0).next()?;
    let words: Vec<String> =
        String::from_utf8_lossy(value).split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A number of four or eight bytes; `None` for a negative one.
fn number(name: &str) -> Option<u64> {
    let value = sysctl::<8>(name)?;
    let number = match value.len() {
        4 => i32::from_ne_bytes(value.try_into().ok()?).into(),
        8 => i64::from_ne_bytes(value.try_into().ok()?),
        _ => return None,
    };
    u64::try_from(number).ok()
}

/// The value of the first of `names` that exists.
fn first_number(names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| number(name))
}

fn find_system(findings: &mut Findings) {
    findings.set("os", text("kern.ostype"));
    findings.set("release", text("kern.osrelease"));
    findings.set("build", text("kern.version"));
    findings.set("arch", text("hw.machine"));
    // macOS has an id of the hardware only, which takes a framework to read.
    findings.set("machine_id", hashed_id(text("kern.hostuuid")));
    findings.set("congestion_control", text("net.inet.tcp.cc.algorithm"));
    let user = crate::user::own_user();
    findings.set("privileges", if user == 0 { "root" } else { "user" });
    find_particulars(findings, cpuid::here().hypervisor());
}

#[cfg(target_os = "freebsd")]
fn find_particulars(findings: &mut Findings, hypervisor: Option<String>) {
    findings.set("tick_hz", number("kern.hz"));
    let release = text("kern.osrelease").map(|release| format!("FreeBSD {release}"));
    findings.set("distribution", release);
    findings.set("libc", "FreeBSD libc");
    findings.set("hypervisor", hypervisor.or_else(|| text("kern.vm_guest")));
    findings.set("compat", "none");
    findings.set("host_kernel", "none");
    let jailed = number("security.jail.jailed");
    findings.set("container", jailed.map(|jailed| if jailed == 0 { "none" } else { "jail" }));
}

#[cfg(target_os = "macos")]
fn find_particulars(findings: &mut Findings, hypervisor: Option<String>) {
    let version = text("kern.osproductversion").map(|version| format!("macOS {version}"));
    findings.set("distribution", version);
    findings.set("libc", "libSystem");
    findings.set("hardware", text("hw.model"));
    let present = number("kern.hv_vmm_present");
    let reported = present.map(|present| if present == 0 { "none" } else { "present" });
    findings.set("hypervisor", hypervisor.or_else(|| reported.map(str::to_owned)));
    // The name does not exist on machines that never translate.
    let translated = number("sysctl.proc_translated") == Some(1);
    findings.set("compat", if translated { "Rosetta" } else { "none" });
    findings.set("host_kernel", "none");
    findings.set("container", "none");
}

fn find_cpu(findings: &mut Findings) {
    let name = text("machdep.cpu.brand_string").or_else(|| cpuid::here().brand());
    findings.set("cpu", name.or_else(|| text("hw.model")));
    let online = first_number(&["kern.smp.cpus", "hw.activecpu", "hw.ncpu"]);
    findings.set("cpus_online", online);
    findings.set("cpus", online);
    let cores = first_number(&["kern.smp.cores", "hw.physicalcpu"]);
    findings.set("cores", cores);
    let threads_per_core = number("kern.smp.threads_per_core")
        .or_else(|| online?.checked_div(cores?).filter(|threads| *threads != 0));
    findings.set("threads_per_core", threads_per_core);
    let smt = threads_per_core.map(|threads| if threads > 1 { "on" } else { "off" });
    findings.set("smt", smt);
    findings.set("numa_nodes", number("vm.ndomains"));
    findings.set_caches(|name| reported_cache_bytes(0, name));
    if let Some(identity) = cpuid::here().identity() {
        identity.add_to(findings);
    }
    findings.set("core_types", core_type(0));
    let isolated = number("vm.pmap.pti").map(|pti| format!("pti={pti}"));
    findings.set("mitigations", isolated);
}

fn find_clock(findings: &mut Findings) {
    let source = text("kern.timecounter.hardware");
    // macOS has no choice: its clocks count mach_absolute_time.
    let only = crate::IS_MACOS.then(|| "mach".to_owned());
    findings.set("clock_source", source.or_else(|| only.clone()));
    findings.set("clock_sources", text("kern.timecounter.choice").or(only));
    if cfg!(target_arch = "x86_64") {
        findings.set("tsc", cpuid::here().tsc(&[]));
        let hz = first_number(&["machdep.tsc_freq", "machdep.tsc.frequency"]);
        let khz = hz.map(|hz| hz / 1000);
        findings.set("tsc_khz", khz.or_else(|| cpuid::here().tsc_khz()));
    } else {
        findings.set("tsc", "none");
    }
}

fn find_memory(findings: &mut Findings) {
    findings.set("memory_bytes", first_number(&["hw.memsize", "hw.physmem"]));
    findings.set("swap_bytes", number("vm.swap_total"));
    findings.set("page_size_bytes", number("hw.pagesize"));
    let superpages = number("vm.pmap.pg_ps_enabled");
    findings.set("thp", superpages.map(|on| if on == 0 { "off" } else { "on" }));
}

fn find_limits(findings: &mut Findings) {
    findings.set("open_files", resource_limit!(libc::RLIMIT_NOFILE));
    findings.set("processes", resource_limit!(libc::RLIMIT_NPROC));
    findings.set("locked_memory", resource_limit!(libc::RLIMIT_MEMLOCK));
    findings.set("pid_max", number("kern.pid_max"));
    let backlog = ["kern.ipc.soacceptqueue", "kern.ipc.somaxconn"];
    findings.set("somaxconn", first_number(&backlog));
    let port = |end| number(&format!("net.inet.ip.portrange.{end}"));
    let ports = port("first").zip(port("last"));
    findings.set("local_ports", ports.map(|(first, last)| format!("{first} {last}")));
    for linux_only in ["perf_event_paranoid", "io_uring_disabled", "ptrace_scope"] {
        findings.set(linux_only, "none");
    }
}

fn find_state(findings: &mut Findings) {
    let mut load = [0.0_f64; 3];
    // SAFETY: the array has the stated length.
    let result = unsafe { libc::getloadavg(load.as_mut_ptr(), 3) };
    let [one, five, fifteen] = load;
    let shown = (result == 3).then(|| format!("{one:.2} {five:.2} {fifteen:.2}"));
    findings.set("load", shown);
    findings.set("uptime_seconds", uptime());
}

/// The time since boot, which sysctl gives as a timeval whose first part is the seconds.
fn uptime() -> Option<u64> {
    let boot = sysctl::<{ size_of::<libc::timeval>() }>("kern.boottime")?;
    let boot = boot.get(..size_of::<libc::time_t>())?;
    let boot = libc::time_t::from_ne_bytes(boot.try_into().ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    now.checked_sub(u64::try_from(boot).ok()?)
}
