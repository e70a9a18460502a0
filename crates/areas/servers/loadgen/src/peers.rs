//! State that several threads of one load share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use platform::CaseError;

/// State that the threads of one step share.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Number of threads.
    count: usize,
    /// Number of exchanges that have ended in any thread.
    ended: AtomicU64,
    /// Number of arrivals of threads at meetings.
    arrived: AtomicUsize,
    /// Whether a thread has failed, so that the others end too.
    failed: AtomicBool,
}

impl Peers {
    pub fn new(count: usize) -> Self {
        let (ended, arrived) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self { count, ended, arrived, failed: AtomicBool::new(false) }
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds exchanges that have ended; returns the total number.
    pub fn add_ended(&self, more: u64) -> u64 {
        self.ended.fetch_add(more, Ordering::Relaxed) + more
    }

    /// Arrives at the next meeting; returns the number of arrivals that completes it.
    pub fn arrive(&self) -> usize {
        let nth = self.arrived.fetch_add(1, Ordering::AcqRel);
        (nth / self.count + 1) * self.count
    }

    /// Whether all threads have arrived at a meeting.
    ///
    /// # Errors
    /// `Failed` if a thread has failed and will not arrive.
    pub fn is_complete(&self, meeting: usize) -> Result<bool, CaseError> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(CaseError::Failed("another thread of the generator failed".into()));
        }
        Ok(self.arrived.load(Ordering::Acquire) >= meeting)
    }
}

/// Reports a thread as failed when dropped, also by a panic.
pub(crate) struct FailsUnlessDone<'a>(pub &'a Peers);

impl Drop for FailsUnlessDone<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Ordering::Relaxed);
    }
}
