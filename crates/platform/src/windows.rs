//! Resource usage that Windows reports of a process, and limits on this one.

use std::time::Duration;

use windows_sys::Win32::Foundation::{FILETIME, HANDLE};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

/// The CPU time that a process has used.
pub struct CpuTimes {
    /// CPU time in kernel mode.
    pub kernel: Duration,
    /// CPU time in user mode.
    pub user: Duration,
}

/// The CPU time of the process with this open handle.
pub fn cpu_times(process: HANDLE) -> Option<CpuTimes> {
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the handle is open and all four are valid places.
    let done = unsafe { GetProcessTimes(process, created, ended, kernel, user) };
    let [_, _, kernel, user] = times.map(|time| {
        let hundreds_of_ns = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
        Duration::from_nanos(hundreds_of_ns.saturating_mul(100))
    });
    (done != 0).then_some(CpuTimes { kernel, user })
}

/// The memory and page faults of the process with this open handle.
pub fn memory(process: HANDLE) -> Option<PROCESS_MEMORY_COUNTERS> {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    // SAFETY: the handle is open, and the size given is that of the counters.
    let done =
        unsafe { GetProcessMemoryInfo(process, &mut counters, size_of_val(&counters) as u32) };
    (done != 0).then_some(counters)
}

/// Puts this process in a new job with these limits; returns whether that succeeded. The job's handle stays open until the
/// system closes it at the end of the process.
pub fn join_job(limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) -> bool {
    let (class, size) = (JobObjectExtendedLimitInformation, size_of_val(limits) as u32);
    // SAFETY: no attributes and no name are given, and the limits have the stated size.
    unsafe {
        let job = CreateJobObjectW(std::ptr::null(), std::ptr::null());
        SetInformationJobObject(job, class, std::ptr::from_ref(limits).cast(), size) != 0
            && AssignProcessToJobObject(job, GetCurrentProcess()) != 0
    }
}
