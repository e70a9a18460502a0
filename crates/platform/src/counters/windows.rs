//! Counters of Windows: page faults of the process.

use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::{Counts, SyscallCounting};

/// Counters of the process; Windows counts neither system calls nor switches for a thread.
pub struct ThreadCounters {
    faults_before: Option<u64>,
}

impl ThreadCounters {
    /// Opens the counter of page faults, the only one of Windows.
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
    let counters = crate::windows::memory(unsafe { GetCurrentProcess() })?;
    Some(u64::from(counters.PageFaultCount))
}

/// Returns 0: Windows does not report the switches of a thread.
pub fn involuntary_switches() -> u64 {
    0
}

/// Returns `None`: Windows does not report the switches of a thread.
pub fn voluntary_switches() -> Option<u64> {
    None
}
