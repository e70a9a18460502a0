//! Shared by the cases of threads: threads that live during the measurement, and the parameter of their number.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use measure::{CaseError, Params};

use crate::{Extent, Param, Takes, count_of, value_of};

/// Maximum number of threads: many systems allow no more.
const THREADS_AT_MOST: u64 = 10_000;

/// The parameter `threads`: number of threads that exist while another is created.
pub const THREADS: Param = Param::new("threads", &["1", "10", "512"])
    .meaning(
        "how many threads of the process live before one more is created; all but its \
         creator sleep",
    )
    .full(&["1", "10", "64", "256", "512"])
    .takes(Takes::Count(THREADS_AT_MOST));

/// Whether a run measures the point: a quick run creates threads beside no others, and wakes them on another CPU only.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let has_others = value_of(params, "threads").is_ok_and(|threads| threads != "1");
    let is_on_same = value_of(params, "place").is_ok_and(|place| place == "same");
    extent != Extent::Quick || !(has_others || is_on_same)
}

/// Sleeping threads, which are woken and joined when dropped.
pub struct SleepingThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl SleepingThreads {
    /// Starts threads so that as many exist as the parameter `threads` says, including the calling one.
    ///
    /// # Errors
    /// `Unsupported` if this process may not have that many.
    pub fn beside_this(params: &Params) -> Result<Self, CaseError> {
        let count = count_of(params, THREADS.name)?.saturating_sub(1);
        let mut all = Self { stop: Arc::default(), threads: Vec::with_capacity(count) };
        let begun = Arc::new(AtomicUsize::new(0));
        for number in 0..count {
            let (stop, begun) = (Arc::clone(&all.stop), Arc::clone(&begun));
            let sleep = move || {
                begun.fetch_add(1, Ordering::AcqRel);
                while !stop.load(Ordering::Acquire) {
                    std::thread::park();
                }
            };
            let started = Builder::new().stack_size(64 << 10).spawn(sleep);
            let refused = |e: std::io::Error| match e.kind() {
                ErrorKind::WouldBlock | ErrorKind::OutOfMemory => CaseError::Unsupported(format!(
                    "{number} of {count} threads could be started, then: {e} (limits: ulimit -u, \
                     kernel.threads-max, vm.max_map_count, pids.max of the cgroup)"
                )),
                _ => CaseError::from_io("a thread", &e),
            };
            all.threads.push(started.map_err(refused)?);
        }
        while begun.load(Ordering::Acquire) < count {
            std::thread::yield_now();
        }
        Ok(all)
    }

    /// Number of sleeping threads.
    #[cfg(test)]
    pub fn living(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_finished()).count()
    }
}

impl Drop for SleepingThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        for thread in self.threads.drain(..) {
            // The result is ignored: the thread cannot panic.
            let _ = thread.join();
        }
    }
}
