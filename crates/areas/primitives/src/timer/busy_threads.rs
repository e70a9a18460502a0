//! Threads that keep CPUs busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::CaseError;
use platform::cpu::pin_thread;

/// Time after which a busy thread ends by itself.
const LONGEST: Duration = Duration::from_secs(60);
/// Number of turns between two clock reads.
const TURNS: u32 = 10_000;

/// A busy thread on each of several CPUs, until dropped.
pub struct BusyThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyThreads {
    /// Starts a busy thread on each of `cpus`, pinned where the system permits it, and waits until all of them run.
    ///
    /// # Errors
    /// The error of starting a thread.
    pub fn start(cpus: &[usize]) -> Result<Self, CaseError> {
        let running = Arc::new(AtomicUsize::new(0));
        let mut all = Self { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        for &cpu in cpus {
            let (stop, running) = (Arc::clone(&all.stop), Arc::clone(&running));
            let thread = std::thread::Builder::new().spawn(move || {
                let _ = pin_thread(cpu);
                running.fetch_add(1, Ordering::Relaxed);
                spin_until(&stop, Instant::now() + LONGEST);
            });
            all.threads.push(thread.map_err(|e| CaseError::from_io("a busy thread", &e))?);
        }
        while running.load(Ordering::Relaxed) < cpus.len() {
            std::thread::yield_now();
        }
        Ok(all)
    }
}

fn spin_until(stop: &AtomicBool, end: Instant) {
    while Instant::now() < end {
        for _ in 0..TURNS {
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_use_the_cpu_and_end() {
        let cpus = platform::cpu::allowed();
        let before = measure_cpu();
        let threads = BusyThreads::start(&cpus).unwrap();
        let stop = Arc::clone(&threads.stop);
        assert_eq!(threads.threads.len(), cpus.len());
        let began = Instant::now();
        // The loop waits for CPU time, since the threads may get only a little of the CPUs.
        while measure_cpu() - before < Duration::from_millis(20) {
            assert!(began.elapsed() < Duration::from_secs(60), "they do not run");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(threads);
        assert_eq!(Arc::strong_count(&stop), 1, "a thread still holds it");
    }

    fn measure_cpu() -> Duration {
        platform::process::usage::ProcessUsage::now().cpu
    }

    #[test]
    fn they_end_by_themselves() {
        spin_until(&AtomicBool::new(false), Instant::now());
    }
}
