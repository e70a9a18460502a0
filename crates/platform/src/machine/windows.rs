//! Windows, and Wine: the registry, a few system calls, and CPUID.
//!
//! Under Wine, constant properties of Windows are unknown: they do not apply to the kernel below.

use super::cpuid;
use super::facts::{Findings, Value, hashed_id};
use crate::format::{cpu_list, cpu_share, size};
use crate::memory::os::{page_size, status, system_info};
use std::ffi::{CStr, c_char, c_void};
use std::mem::{transmute, zeroed};
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::Security::{
    GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation,
};
use windows_sys::Win32::System::JobObjects::{
    IsProcessInJob, JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
    JOB_OBJECT_LIMIT_JOB_MEMORY, JOBOBJECT_CPU_RATE_CONTROL_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS, JobObjectCpuRateControlInformation,
    JobObjectExtendedLimitInformation, QueryInformationJobObject,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::Performance::QueryPerformanceFrequency;
use windows_sys::Win32::System::ProcessStatus::{K32GetPerformanceInfo, PERFORMANCE_INFORMATION};
use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, REG_ROUTINE_FLAGS, RRF_RT_REG_DWORD, RRF_RT_REG_SZ, RegGetValueW,
};
use windows_sys::Win32::System::SystemInformation::{
    CacheData, CacheInstruction, CacheUnified, GetLogicalProcessorInformation,
    GetSystemTimeAdjustment, GetTickCount64, OSVERSIONINFOW, PROCESSOR_ARCHITECTURE_AMD64,
    PROCESSOR_ARCHITECTURE_ARM64, PROCESSOR_ARCHITECTURE_INTEL, PROCESSOR_CACHE_TYPE,
    RelationCache, RelationNumaNode, RelationProcessorCore, SYSTEM_LOGICAL_PROCESSOR_INFORMATION,
};
use windows_sys::Win32::System::Threading::{
    ALL_PROCESSOR_GROUPS, GetActiveProcessorCount, GetCurrentProcess, OpenProcessToken,
};

/// Reports only whether the processor has one kind of core.
pub fn core_type(_cpu: usize) -> Option<String> {
    (cpuid::here().is_hybrid() == Some(false)).then(|| "all alike".to_owned())
}

/// The emulator according to other sources than CPUID: Windows has none.
pub(super) fn emulator() -> Option<String> {
    None
}

pub(super) fn find() -> Findings {
    let mut findings = Findings::default();
    let wine = wine_version();
    find_system(&mut findings, wine.as_deref());
    findings.set("allocator", crate::memory::allocator::name());
    find_cpu(&mut findings);
    find_clock(&mut findings);
    find_memory(&mut findings);
    if wine.is_none() {
        find_windows_only(&mut findings);
    }
    findings
}

/// A function of ntdll.dll, which every process has; `None` if it lacks the function, as old versions do. Wine adds its
/// own.
fn ntdll(name: &CStr) -> Option<unsafe extern "system" fn() -> isize> {
    // SAFETY: the name ends in a zero.
    let module = unsafe { GetModuleHandleA(c"ntdll.dll".as_ptr().cast()) };
    if module.is_null() {
        return None;
    }
    // SAFETY: ntdll.dll is never unloaded, and the name ends in a zero.
    unsafe { GetProcAddress(module, name.as_ptr().cast()) }
}

/// Text that a function of Wine returned.
fn wine_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: Wine's texts are constants that end in a zero.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

pub(crate) fn wine_version() -> Option<String> {
    let function = ntdll(c"wine_get_version")?;
    // SAFETY: Wine documents this function for this purpose.
    let function = unsafe {
        transmute::<unsafe extern "system" fn() -> isize, extern "C" fn() -> *const c_char>(
            function,
        )
    };
    wine_text(function())
}

/// The kernel that Wine runs on, such as `Linux 6.1.0`.
fn wine_host() -> Option<String> {
    type HostVersion = unsafe extern "C" fn(*mut *const c_char, *mut *const c_char);
    let function = ntdll(c"wine_get_host_version")?;
    // SAFETY: Wine documents this function.
    let function =
        unsafe { transmute::<unsafe extern "system" fn() -> isize, HostVersion>(function) };
    let (mut name, mut release) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both are valid places for a pointer.
    unsafe { function(&mut name, &mut release) };
    Some(format!("{} {}", wine_text(name)?, wine_text(release)?))
}

/// The version of the running Windows: GetVersionEx returns the one that a program was built for.
fn version() -> Option<OSVERSIONINFOW> {
    let function = ntdll(c"RtlGetVersion")?;
    // SAFETY: this is the function's type in the Windows Driver Kit.
    let function = unsafe {
        transmute::<
            unsafe extern "system" fn() -> isize,
            unsafe extern "system" fn(*mut OSVERSIONINFOW) -> i32,
        >(function)
    };
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..Default::default()
    };
    // SAFETY: `version` is valid for writes, and contains its size.
    let status = unsafe { function(&mut version) };
    (status == 0).then_some(version)
}

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// Reads a value of the registry's local machine into `place`; returns the number of bytes filled.
fn registry(key: &str, name: &str, kind: REG_ROUTINE_FLAGS, place: &mut [u16]) -> Option<usize> {
    let (key, name) = (wide(key), wide(name));
    let mut length = size_of_val(place) as u32;
    // SAFETY: both names end in a zero, and `place` has the length `length`.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            kind,
            std::ptr::null_mut(),
            place.as_mut_ptr().cast(),
            &mut length,
        )
    };
    (status == 0).then_some(length as usize)
}

fn registry_text(key: &str, name: &str) -> Option<String> {
    let mut place = [0_u16; 512];
    let length = registry(key, name, RRF_RT_REG_SZ, &mut place)? / 2;
    let text = String::from_utf16_lossy(&place[..length.min(place.len())]);
    let text = text.trim_matches(['\0', ' ']);
    (!text.is_empty()).then(|| text.to_owned())
}

fn registry_number(key: &str, name: &str) -> Option<u32> {
    let mut place = [0_u16; 2];
    registry(key, name, RRF_RT_REG_DWORD, &mut place)?;
    Some(u32::from(place[1]) << 16 | u32::from(place[0]))
}

const CURRENT_VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";

fn find_system(findings: &mut Findings, wine: Option<&str>) {
    findings.set("os", "Windows");
    if let Some(version) = version() {
        let (major, minor) = (version.dwMajorVersion, version.dwMinorVersion);
        let build = version.dwBuildNumber;
        findings.set("release", format!("{major}.{minor}.{build}"));
        let patch = registry_number(CURRENT_VERSION, "UBR");
        let patch = patch.map_or(String::new(), |patch| format!(".{patch}"));
        let pack = String::from_utf16_lossy(&version.szCSDVersion);
        let pack = pack.split('\0').next().unwrap_or_default();
        findings.set("build", format!("{build}{patch} {pack}").trim());
    }
    findings.set("distribution", registry_text(CURRENT_VERSION, "ProductName"));
    let llvm = cfg!(target_abi = "llvm");
    let msvcrt = cfg!(target_env = "gnu") && !llvm;
    findings.set("libc", if msvcrt { "msvcrt" } else { "ucrt" });
    findings.set("arch", architecture());
    let bios = |name| registry_text(r"HARDWARE\DESCRIPTION\System\BIOS", name);
    let hardware = [bios("SystemManufacturer"), bios("SystemProductName")];
    findings.set("hardware", hardware.into_iter().flatten().collect::<Vec<_>>().join(" "));
    findings.set("hypervisor", cpuid::here().hypervisor());
    findings.set("privileges", elevated().map(|yes| if yes { "administrator" } else { "user" }));
    match wine {
        Some(version) => {
            findings.set("compat", format!("Wine {version}"));
            findings.set("host_kernel", wine_host());
        }
        None => {
            findings.set("compat", "none");
            findings.set("host_kernel", "none");
        }
    }
}

fn architecture() -> Option<&'static str> {
    // SAFETY: all fields of the union are plain numbers, of which the call sets this one.
    match unsafe { system_info().Anonymous.Anonymous.wProcessorArchitecture } {
        PROCESSOR_ARCHITECTURE_AMD64 => Some("x86_64"),
        PROCESSOR_ARCHITECTURE_ARM64 => Some("aarch64"),
        PROCESSOR_ARCHITECTURE_INTEL => Some("x86"),
        _ => None,
    }
}

/// Whether this process has an administrator's privileges.
fn elevated() -> Option<bool> {
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: `token` is a valid place for a handle.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token) } == 0 {
        return None;
    }
    let mut elevation = TOKEN_ELEVATION::default();
    let mut length = 0;
    // SAFETY: the token is open, and `elevation` has the stated length.
    let result = unsafe {
        GetTokenInformation(
            token,
            TokenElevation,
            (&raw mut elevation).cast(),
            size_of_val(&elevation) as u32,
            &mut length,
        )
    };
    // SAFETY: the token is open, and not used after this.
    unsafe { CloseHandle(token) };
    (result != 0).then_some(elevation.TokenIsElevated != 0)
}

fn find_cpu(findings: &mut Findings) {
    const FIRST: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
    let name = registry_text(FIRST, "ProcessorNameString");
    findings.set("cpu", name.or_else(|| cpuid::here().brand()));
    if let Some(identity) = cpuid::here().identity() {
        identity.add_to(findings);
    }
    findings.set("core_types", core_type(0));
    // SAFETY: the call takes a number and answers one.
    let online = unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) };
    findings.set("cpus_online", (online != 0).then_some(u64::from(online)));
    let allowed = crate::cpu::affinity();
    if !allowed.is_empty() {
        findings.set("cpus", allowed.len() as u64);
        findings.set("affinity", cpu_list(allowed));
    }
    let topology = topology();
    let count = |relation| {
        let of_kind = topology.iter().filter(|entry| entry.Relationship == relation);
        match of_kind.count() {
            0 => Value::Unknown,
            count => Value::Number(count as u64),
        }
    };
    findings.set("cores", count(RelationProcessorCore));
    findings.set("numa_nodes", count(RelationNumaNode));
    let cores = topology.iter().filter(|entry| entry.Relationship == RelationProcessorCore);
    let threads = cores.map(|core| u64::from(core.ProcessorMask.count_ones())).max();
    findings.set("threads_per_core", threads);
    findings.set("smt", threads.map(|threads| if threads > 1 { "on" } else { "off" }));
    findings.set_caches(|name| reported_cache_bytes(0, name));
}

/// The size in bytes of the cache that facts call `name`.
pub(super) fn reported_cache_bytes(_cpu: usize, name: &str) -> Option<u64> {
    let (level, kind) = match name {
        "l1d" => (1, CacheData),
        "l1i" => (1, CacheInstruction),
        "l2" => (2, CacheUnified),
        _ => (3, CacheUnified),
    };
    cache_bytes(&topology(), level, kind).or_else(|| cpuid::here().cache_bytes(name))
}

fn cache_bytes(
    topology: &[SYSTEM_LOGICAL_PROCESSOR_INFORMATION],
    level: u8,
    kind: PROCESSOR_CACHE_TYPE,
) -> Option<u64> {
    topology
        .iter()
        .filter(|entry| entry.Relationship == RelationCache)
        // SAFETY: entries of this kind have the cache in their union.
        .map(|entry| unsafe { entry.Anonymous.Cache })
        .find(|cache| cache.Level == level && cache.Type == kind)
        .map(|cache| u64::from(cache.Size))
}

/// Cores, caches and memory nodes of the processors in this process's group.
fn topology() -> Vec<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> {
    const ENTRY: usize = size_of::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION>();
    let mut length = 0;
    // SAFETY: without a buffer, the call returns the required length.
    unsafe { GetLogicalProcessorInformation(std::ptr::null_mut(), &mut length) };
    // SAFETY: the entries are plain numbers, for which zeros are valid.
    let mut entries = vec![unsafe { zeroed() }; length as usize / ENTRY];
    // SAFETY: the buffer has the length `length`.
    let result = unsafe { GetLogicalProcessorInformation(entries.as_mut_ptr(), &mut length) };
    entries.truncate(if result == 0 { 0 } else { length as usize / ENTRY });
    entries
}

fn find_clock(findings: &mut Findings) {
    let mut hertz = 0;
    // SAFETY: `hertz` is valid for writes.
    let result = unsafe { QueryPerformanceFrequency(&mut hertz) };
    // Windows does not report the source of its counter, but each source has its own frequency.
    let counter = format!("qpc {} MHz", hertz as f64 / 1e6);
    findings.set("clock_source", (result != 0).then_some(counter));
    if cfg!(target_arch = "x86_64") {
        findings.set("tsc", cpuid::here().tsc(&[]));
        findings.set("tsc_khz", cpuid::here().tsc_khz());
    } else {
        findings.set("tsc", "none");
    }
}

fn find_memory(findings: &mut Findings) {
    findings.set("page_size_bytes", page_size() as u64);
    if let Some(memory) = status() {
        findings.set("memory_bytes", memory.ullTotalPhys);
        findings.set("memory_available_bytes", memory.ullAvailPhys);
    }
    // SAFETY: the call takes nothing and cannot fail.
    let milliseconds = unsafe { GetTickCount64() };
    findings.set("uptime_seconds", milliseconds / 1000);
}

/// The size of the page files: the commit limit less the memory.
fn swap_bytes() -> Option<u64> {
    let mut pages = PERFORMANCE_INFORMATION::default();
    // SAFETY: `pages` has the stated length.
    let result = unsafe { K32GetPerformanceInfo(&mut pages, size_of_val(&pages) as u32) };
    let in_files = pages.CommitLimit.saturating_sub(pages.PhysicalTotal);
    (result != 0).then_some((in_files * pages.PageSize) as u64)
}

/// Constant properties of Windows.
fn find_windows_only(findings: &mut Findings) {
    findings.set("preempt", "full");
    for lacking in ["seccomp", "thp", "perf_event_paranoid", "io_uring_disabled", "ptrace_scope"] {
        findings.set(lacking, "none");
    }
    let inside = registry_number(r"SYSTEM\CurrentControlSet\Control", "ContainerType");
    findings.set("container", if inside.is_some() { "windows" } else { "none" });
    let id = registry_text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid");
    findings.set("machine_id", hashed_id(id));
    let options = registry_text(r"SYSTEM\CurrentControlSet\Control", "SystemStartOptions");
    findings.set("kernel_command_line", options);
    findings.set("tick_hz", tick_hz());
    findings.set("swap_bytes", swap_bytes());
    findings.set("governor", power_scheme());
    findings.set("mitigations", speculation_control());
    find_job_limits(findings);
}

/// The frequency of the system's timer interrupt in Hz, unless a program requests a higher one.
fn tick_hz() -> Option<u64> {
    let (mut adjustment, mut increment, mut disabled) = (0, 0, 0);
    // SAFETY: all three are valid for writes.
    let result = unsafe { GetSystemTimeAdjustment(&mut adjustment, &mut increment, &mut disabled) };
    // The increment is in units of 100 ns.
    let hertz = 10_000_000_u64.checked_div(u64::from(increment));
    hertz.filter(|_| result != 0)
}

/// The power plan, which sets frequencies; well-known plans by name.
fn power_scheme() -> Option<String> {
    const SCHEMES: &str = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes";
    let scheme = registry_text(SCHEMES, "ActivePowerScheme")?.to_lowercase();
    Some(match scheme.as_str() {
        "381b4222-f694-41f0-9685-ff5bb260df2e" => "balanced".to_owned(),
        "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c" => "high performance".to_owned(),
        "a1841308-3541-4fab-bc81-f71556f20b4a" => "power saver".to_owned(),
        "e9a42b02-d5df-448d-aa00-03f14749eb61" => "ultimate performance".to_owned(),
        _ => scheme,
    })
}

/// The kernel's mitigations of speculation flaws, as the bits of its own structure.
fn speculation_control() -> Option<String> {
    const SYSTEM_SPECULATION_CONTROL_INFORMATION: i32 = 201;
    type Query = unsafe extern "system" fn(i32, *mut c_void, u32, *mut u32) -> i32;
    let function = ntdll(c"NtQuerySystemInformation")?;
    // SAFETY: this is the function's type in the Windows SDK.
    let function = unsafe { transmute::<unsafe extern "system" fn() -> isize, Query>(function) };
    // A buffer of the first word only: newer versions of Windows have a second one.
    let (mut flags, mut length) = (0_u32, 0);
    // SAFETY: `flags` has the stated length.
    let status = unsafe {
        function(
            SYSTEM_SPECULATION_CONTROL_INFORMATION,
            (&raw mut flags).cast(),
            size_of_val(&flags) as u32,
            &mut length,
        )
    };
    (status == 0).then(|| format!("speculation_control={flags:#x}"))
}

/// Adds the limits of this process's job object, which containers use. Jobs can be nested, and only the innermost can be
/// queried: others may have further limits.
fn find_job_limits(findings: &mut Findings) {
    let mut in_job = 0;
    // SAFETY: the handle is this process's own, and `in_job` is valid for writes.
    let result = unsafe { IsProcessInJob(GetCurrentProcess(), std::ptr::null_mut(), &mut in_job) };
    if result == 0 {
        return;
    }
    if in_job == 0 {
        findings.set("cgroup_cpu", "none");
        findings.set("cgroup_memory", "none");
        return;
    }
    let memory =
        job_information::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>(JobObjectExtendedLimitInformation)
            .filter(|job| job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY != 0)
            .map(|job| size(job.JobMemoryLimit as u64));
    findings.set("cgroup_memory", memory);
    const CAPPED: u32 = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    let cpu = job_information::<JOBOBJECT_CPU_RATE_CONTROL_INFORMATION>(
        JobObjectCpuRateControlInformation,
    )
    .filter(|job| job.ControlFlags & CAPPED == CAPPED)
    // SAFETY: with these flags the union holds the rate.
    .map(|job| unsafe { job.Anonymous.CpuRate });
    // SAFETY: the call takes a number and answers one.
    let online = unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) };
    // The rate is in hundredths of a percent of all processors together.
    let share = cpu.map(|rate| cpu_share(f64::from(rate) / 10_000.0 * f64::from(online)));
    findings.set("cgroup_cpu", share);
}

fn job_information<T: Default>(class: JOBOBJECTINFOCLASS) -> Option<T> {
    let mut information = T::default();
    // SAFETY: no handle stands for the job of this process, and `information` has the stated length.
    let result = unsafe {
        QueryInformationJobObject(
            std::ptr::null_mut(),
            class,
            (&raw mut information).cast(),
            size_of::<T>() as u32,
            std::ptr::null_mut(),
        )
    };
    (result != 0).then_some(information)
}
