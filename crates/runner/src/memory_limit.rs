//! A limit on the memory of this process.

pub(crate) use os::limit_growth;

#[cfg(unix)]
mod os {
    use std::sync::OnceLock;

    use measure::CaseError;

    /// Signals that end a process out of memory: of a null pointer, and of abort(3).
    const CRASHES: [libc::c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT];
    /// The assumed address space of this process where it is unknown, in bytes.
    const USUAL_SIZE: u64 = 1 << 30;

    /// Limits this process to `bytes` more memory than it uses now, on Unix of address space. Allocations beyond it fail. A process
    /// that crashes then first prints a line that names the limit to standard error.
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
        pages.checked_mul(platform::memory::page_size() as u64)
    }

    /// The signals' earlier actions.
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
            let handler = on_crash as *const () as libc::sighandler_t;
            let report = platform::process::signal::action(handler, libc::SA_ONSTACK);
            for signal in CRASHES {
                libc::sigaction(signal, &report, std::ptr::null_mut());
            }
        }
    }

    /// Prints the line if the last failed call of this thread lacked memory, and restores the signal's earlier action: a
    /// fault recurs when the handler returns, and abort(3) raises the signal again.
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
        JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    };
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    use measure::CaseError;
    use platform::windows::{join_job, memory};

    /// Limits this process to `bytes` more memory than it uses now.
    pub fn limit_growth(bytes: u64) -> Result<(), CaseError> {
        // SAFETY: the pseudo handle needs no closing.
        let used = memory(unsafe { GetCurrentProcess() }).map_or(0, |now| now.PagefileUsage);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY;
        limits.ProcessMemoryLimit =
            used.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        match join_job(&limits) {
            true => Ok(()),
            false => Err(CaseError::last_os_error("limiting the memory (job object)")),
        }
    }
}
