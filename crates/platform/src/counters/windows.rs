//! Counters of Windows: page faults of the process.

use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::{Counts, SyscallCounting};

/// Counters of the process; Windows counts neither system calls nor switches for a thread.
pub struct ThreadCounters {
    faults_before: Option<u64>,
}

impl ThreadCounters {
    /// Only page faults are counted here.
    pub fn open(_counting: SyscallCounting) -> Self {
        Self { faults_before: None }
    }

    /// Begins to count.
    pub fn start(&mut self) {
        self.faults_before = page_faults();
    }

    /// Ends counting.
    pub fn stop(&mut self) -> Counts {
        let faults = self.faults_before.zip(page_faults());
        Counts {
            page_faults: faults.map(|(before, after)| after.saturating_sub(before)),
            ..Counts::default()
        }
    }
}

fn page_faults() -> Option<u64> {
    // SAFETY: the pseudo handle needs no closing.
    let counters = crate::windows_process::memory(unsafe { GetCurrentProcess() })?;
    Some(u64::from(counters.PageFaultCount))
}

/// Windows does not report it.
pub fn involuntary_switches() -> u64 {
    0
}

/// Windows does not report it.
pub fn voluntary_switches() -> Option<u64> {
    None
}
