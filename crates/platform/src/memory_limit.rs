//! A limit on the memory of this process.

use crate::CaseError;

/// Lets this process use at most this many bytes more than it uses now, in units of address space where the system has them.
/// Beyond that, allocations fail. If the process then crashes, it first prints a line that names the limit to standard error.
///
/// # Errors
/// If the system refuses the limit.
pub fn limit_growth(bytes: u64) -> Result<(), CaseError> {
    os::limit_growth(bytes)
}

#[cfg(unix)]
mod os {
    use std::sync::OnceLock;

    use crate::CaseError;

    /// Signals by which a process ends that has run out of memory: of a null pointer, and of abort(3).
    const CRASHES: [libc::c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT];
    /// The address space of this process where it is unknown, in bytes.
    const USUAL_SIZE: u64 = 1 << 30;

    pub fn limit_growth(bytes: u64) -> Result<(), CaseError> {
        let most = size().unwrap_or(USUAL_SIZE).saturating_add(bytes);
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place, and a valid limit.
        unsafe {
            libc::getrlimit(libc::RLIMIT_AS, &mut limit);
            #[allow(
                clippy::useless_conversion,
                clippy::unnecessary_cast,
                reason = "FreeBSD's is signed"
            )]
            let wanted = most.min(limit.rlim_max as u64) as libc::rlim_t;
            limit.rlim_cur = wanted;
            if libc::setrlimit(libc::RLIMIT_AS, &limit) != 0 {
                return Err(CaseError::last_os_error("limiting the memory (setrlimit)"));
            }
        }
        report_crashes();
        Ok(())
    }

    /// The present address space in bytes (proc_pid_statm(5)); `None` where the system does not report it.
    fn size() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
        // SAFETY: the call has no pointers.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        pages.checked_mul(page)
    }

    /// What each signal did before.
    static EARLIER: OnceLock<[libc::sigaction; CRASHES.len()]> = OnceLock::new();

    fn report_crashes() {
        // SAFETY: all-zero actions are valid; the handler makes async-signal-safe calls only.
        unsafe {
            let mut earlier: [libc::sigaction; CRASHES.len()] = std::mem::zeroed();
            for (signal, action) in CRASHES.iter().zip(&mut earlier) {
                libc::sigaction(*signal, std::ptr::null(), action);
            }
            if EARLIER.set(earlier).is_err() {
                return;
            }
            let mut report: libc::sigaction = std::mem::zeroed();
            report.sa_sigaction = on_crash as *const () as libc::sighandler_t;
            report.sa_flags = libc::SA_ONSTACK;
            for signal in CRASHES {
                libc::sigaction(signal, &report, std::ptr::null_mut());
            }
        }
    }

    /// Prints the line if the last call that failed in this thread lacked memory. Then the signal does what it did before: a
    /// fault happens again when the handler returns, and abort(3) is finished by raising the signal.
    extern "C" fn on_crash(signal: libc::c_int) {
        const LINE: &[u8] = b"an allocation failed: the limit of memory was reached\n";
        let lacked_memory = std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOMEM);
        // SAFETY: write, sigaction and raise are async-signal-safe; EARLIER was set before the handler was installed.
        unsafe {
            if lacked_memory {
                libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len());
            }
            let at = CRASHES.iter().position(|crash| *crash == signal);
            if let Some((earlier, at)) = EARLIER.get().zip(at) {
                libc::sigaction(signal, &earlier[at], std::ptr::null_mut());
            }
            if signal == libc::SIGABRT {
                libc::raise(signal);
            }
        }
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::JobObjects::{
        AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_PROCESS_MEMORY,
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
        SetInformationJobObject,
    };
    use windows_sys::Win32::System::ProcessStatus::{
        GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS,
    };
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    use crate::CaseError;

    pub fn limit_growth(bytes: u64) -> Result<(), CaseError> {
        // SAFETY: all-zero structures are valid and their stated sizes their own. The job's handle is left open: the system
        // closes it with the process.
        unsafe {
            let mut counters: PROCESS_MEMORY_COUNTERS = std::mem::zeroed();
            let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
            GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size);
            let job = CreateJobObjectW(std::ptr::null(), std::ptr::null());
            let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = std::mem::zeroed();
            limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY;
            limits.ProcessMemoryLimit =
                counters.PagefileUsage.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
            let set = SetInformationJobObject(
                job,
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            );
            if set == 0 || AssignProcessToJobObject(job, GetCurrentProcess()) == 0 {
                return Err(CaseError::last_os_error("limiting the memory (job object)"));
            }
        }
        Ok(())
    }
}
