//! What the cases of memory share: parameters, and the thread that makes the kernel tell a second CPU of each change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use measure::{CaseError, Params, Round};
use platform::cpu::pin_thread;
use platform::machine::reported_caches;
use platform::memory::{Pages, Region};

use crate::{Param, Takes, size_of, value_of};

/// The most bytes that a parameter takes.
pub const SIZE_AT_MOST: u64 = 64 << 30;
/// The value that stands for four times the last-level cache.
pub const FOUR_LLCS: &str = "4xllc";

/// The pages that back the memory.
pub const PAGES_MEANING: &str =
    "the pages that back the memory: of the usual size, or huge (the system is asked for either)";

/// Whether another CPU runs a thread of the process.
pub const OTHERS: Param = Param::new("others", &["0", "1"]).meaning(
    "how many threads of the process compute on another CPU meanwhile, whose TLB \
     the kernel must flush too",
);

/// The same, by default only alone.
pub const OTHERS_IF_FULL: Param = Param { default: &["0"], ..OTHERS };

/// The size of memory of an operation on mappings.
pub const fn size(default: &'static [&'static str], full: &'static [&'static str]) -> Param {
    let meaning = "bytes of memory, in pages of the usual size";
    Param::new("size", default).meaning(meaning).full(full).takes(Takes::Footprint(SIZE_AT_MOST))
}

/// The value of a parameter that is a number of bytes.
///
/// # Errors
/// `Unsupported` if it depends on the last-level cache and that is unknown.
pub fn bytes_of(params: &Params, name: &str, round: &Round) -> Result<usize, CaseError> {
    if value_of(params, name)? != FOUR_LLCS {
        return size_of(params, name);
    }
    let cpu = round.order().cpus.last().copied().unwrap_or(0);
    let llc = reported_caches(cpu).last_level();
    let bytes = llc.and_then(|bytes| usize::try_from(bytes).ok()?.checked_mul(4));
    bytes
        .ok_or_else(|| CaseError::Unsupported("the size of the last-level cache is unknown".into()))
}

/// Memory of this size, in pages of the usual size, whose pages all exist.
///
/// # Errors
/// `Unsupported` if so much is not available.
pub fn populated(bytes: usize) -> Result<Region, CaseError> {
    platform::memory::require(bytes as u64)?;
    let region = Region::new(bytes, Pages::Base)?;
    region.populate();
    Ok(region)
}

/// Declares page faults, where the system counts those of a thread, as Windows does not.
pub fn expect_faults(round: &mut Round, per_operation: f64) {
    if cfg!(unix) {
        round.expect_faults(per_operation);
    }
}

/// A thread of this process that computes on another CPU until it is dropped.
pub struct Other {
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    /// The thread that the parameter `others` asks for, once it runs there.
    ///
    /// # Errors
    /// `Unsupported` where there is no second CPU, or threads cannot be pinned.
    pub fn asked_for(params: &Params, round: &Round) -> Result<Option<Self>, CaseError> {
        if value_of(params, "others")? == "0" {
            return Ok(None);
        }
        match round.order().cpus[..] {
            [other, .., _] => Self::start(other).map(Some),
            _ => Err(CaseError::Unsupported(
                "needs a second CPU; this process may use only one".into(),
            )),
        }
    }

    fn start(cpu: usize) -> Result<Self, CaseError> {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let (ready_tx, ready_rx) = std::sync::mpsc::channel();
        let compute = {
            let stop = stop.clone();
            move || {
                let pinned = pin_thread(cpu);
                let runs = pinned.is_ok();
                let _ = ready_tx.send(pinned);
                while runs && !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let started = std::thread::Builder::new().spawn(compute);
        let thread = started.map_err(|e| CaseError::from_io("a second thread", &e))?;
        let other = Self { stop, thread: Some(thread) };
        let ready = ready_rx.recv();
        ready.map_err(|_| CaseError::Failed("the second thread ended".into()))??;
        Ok(other)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only computes, and cannot panic.
            let _ = thread.join();
        }
    }
}
